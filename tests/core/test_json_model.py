"""Records become JSON by their fields, and the schema follows from the same annotations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from buildbot_bench.core.json_model import (
    Count,
    Figure,
    Fraction,
    Share,
    from_json,
    in_json,
    schema_of,
    to_json,
)


class Colour(StrEnum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """A shape."""

    radius: Figure
    shape: Literal["round"] = "round"


@dataclass(frozen=True, kw_only=True, slots=True)
class Square:
    """Another."""

    side: Figure
    shape: Literal["square"] = "square"


@dataclass(frozen=True, kw_only=True, slots=True)
class Untagged:
    """Looks like any other."""

    side: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """Holds one of each kind of value."""

    colour: Colour
    size: Count
    full: Share
    content: Round | Square | None = None
    marks: tuple[str, ...] = ()
    ends: tuple[float, float] = (0.0, 1.0)
    part: Fraction = 0.5
    facts: Mapping[str, int] = field(default_factory=dict)
    inner: Box | None = None

    @property
    @in_json
    def weight(self) -> float:
        """A part of the JSON."""
        return 2.0 * self.size

    @property
    def secret(self) -> float:
        """None of it."""
        return 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Mixed:
    """Nothing tells its members apart."""

    one: Round | Untagged


@dataclass(frozen=True, kw_only=True, slots=True)
class Opaque:
    """Holds what has no JSON."""

    one: object


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What a program may read again."""

    colour: Colour
    size: Count
    level: float | None
    name: str = ""
    ends: tuple[float, float] | None = None
    inner: tuple[Kept, ...] = ()


figures = st.floats()
shapes = st.builds(Round, radius=figures) | st.builds(Square, side=figures)
boxes = st.recursive(
    st.none(),
    lambda inner: st.builds(
        Box,
        colour=st.sampled_from(Colour),
        size=st.integers(0, 9),
        full=st.floats(0, 1),
        content=st.none() | shapes,
        marks=st.lists(st.text(max_size=3)).map(tuple),
        facts=st.dictionaries(st.text(max_size=3), st.integers()),
        inner=inner,
    ),
    max_leaves=4,
).filter(bool)


kept = st.recursive(
    st.just(()),
    lambda inner: st.lists(
        st.builds(
            Kept,
            colour=st.sampled_from(Colour),
            size=st.integers(0, 9),
            level=st.none() | st.floats(allow_nan=False, allow_infinity=False),
            name=st.text(max_size=3),
            ends=st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1)),
            inner=inner,
        ),
        max_size=2,
    ).map(tuple),
    max_leaves=4,
).filter(bool)


@given(kept)
def test_what_was_written_is_read_as_it_was(records: tuple[Kept, ...]) -> None:
    for record in records:
        assert from_json(Kept, json.loads(json.dumps(to_json(record)))) == record


def test_what_an_earlier_release_did_not_write_has_its_default() -> None:
    stored = {"colour": "red", "size": 1, "level": 2.5, "later": "says nothing"}
    assert from_json(Kept, stored) == Kept(colour=Colour.RED, size=1, level=2.5)


@pytest.mark.parametrize(
    "stored",
    [
        [],
        "red",
        {"colour": "red", "size": 1},
        {"colour": "green", "size": 1, "level": None},
        {"colour": "red", "size": "1", "level": None},
        {"colour": "red", "size": 1, "level": None, "ends": [1.0]},
        {"colour": "red", "size": 1, "level": None, "inner": {}},
        {"colour": "red", "size": 1, "level": None, "inner": [1]},
    ],
)
def test_what_is_of_another_kind_is_refused(stored: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        from_json(Kept, stored)


@given(boxes)
def test_whatever_is_written_keeps_to_the_schema(box: Box) -> None:
    written = json.loads(json.dumps(to_json(box), allow_nan=False))
    assert written == to_json(box)
    Draft202012Validator(schema_of(Box, title="A box")).validate(written)


def test_a_record_has_its_fields_and_the_marked_properties() -> None:
    told = to_json(Box(colour=Colour.RED, size=2, full=0.5, content=Round(radius=math.nan)))
    assert told == {
        "colour": "red",
        "size": 2,
        "full": 0.5,
        "content": {"radius": None, "shape": "round"},
        "marks": [],
        "ends": [0.0, 1.0],
        "part": 0.5,
        "facts": {},
        "inner": None,
        "weight": 4.0,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "green"},
        {"size": -1},
        {"full": 1.5},
        {"ends": [1.0]},
        {"marks": [1]},
        {"content": {"radius": 1.0, "shape": "square"}},
        {"more": 1},
    ],
)
def test_what_breaks_a_rule_breaks_the_schema(change: dict[str, object]) -> None:
    told = to_json(Box(colour=Colour.RED, size=2, full=0.5)) | change
    assert not Draft202012Validator(schema_of(Box, title="A box")).is_valid(told)


def test_members_of_a_union_must_be_told_apart() -> None:
    with pytest.raises(TypeError, match="apart"):
        schema_of(Mixed, title="Mixed")


def test_what_has_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="no JSON"):
        schema_of(Opaque, title="Opaque")
    with pytest.raises(TypeError, match="object has no JSON"):
        to_json(Opaque(one=object()))
