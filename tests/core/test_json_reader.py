"""What is written is read again; what does not fit is named by its key."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.json_model import (
    Cleaned,
    Fraction,
    MissingKeyError,
    Name,
    Rule,
    UnreadableError,
    from_json,
    given_json,
    to_json,
)

Loud = Annotated[str, Cleaned(by=str.upper)]


class Colour(StrEnum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of an order."""

    number: Annotated[int, Rule(minimum=1, maximum=9, hint="count again")]
    share: Fraction | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """An order of parts."""

    name: Name
    colour: Colour = Colour.RED
    parts: tuple[Part, ...] = ()
    names: tuple[str, ...] = ()
    by_name: Mapping[str, str] = field(default_factory=dict)
    files: Annotated[Mapping[str, bytes], Rule(maximum=2)] = field(default_factory=dict)
    with_: str | None = None
    paid: bool = False
    ends: tuple[int, str] = (0, "")
    weight: float = 1.0
    rest: Mapping[str, Any] | None = None
    note: Loud = ""


text = st.text(max_size=3)
orders = st.builds(
    Order,
    name=st.text(min_size=1, max_size=3),
    colour=st.sampled_from(Colour),
    parts=st.lists(
        st.builds(
            Part,
            number=st.integers(1, 9),
            share=st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True),
        ),
        max_size=2,
    ).map(tuple),
    names=st.lists(text, max_size=2).map(tuple),
    by_name=st.dictionaries(text, text, max_size=2),
    files=st.dictionaries(text, st.binary(max_size=3), max_size=2),
    with_=st.none() | text,
    paid=st.booleans(),
    ends=st.tuples(st.integers(), text),
    weight=st.floats(allow_nan=False, allow_infinity=False),
    rest=st.none() | st.dictionaries(text, st.integers(), max_size=2),
)


@given(orders)
def test_what_is_written_is_read_again(order: Order) -> None:
    assert from_json(Order, json.loads(json.dumps(to_json(order)))) == order


def test_what_a_newer_program_writes_besides_is_passed_over() -> None:
    assert from_json(Order, {"name": "a", "colour": None, "new": 1}) == Order(name="a")


def test_a_keyword_is_a_key_and_a_strangers_text_is_cleaned() -> None:
    read = from_json(Order, {"name": "a", "with": "b", "note": "quiet"})
    assert (read.with_, read.note) == ("b", "QUIET")
    assert to_json(read)["with"] == "b"


@pytest.mark.parametrize("raw", [{}, {"name": None}, {"name": ""}])
def test_what_must_be_there_is_missed(raw: Mapping[str, object]) -> None:
    with pytest.raises(MissingKeyError, match="'name'"):
        from_json(Order, raw)


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("name", 5, "be text"),
        ("colour", "green", "be one of red, blue"),
        ("colour", ["red"], "be one of"),
        ("parts", {}, "be a list"),
        ("parts", [1], "be an object"),
        ("parts", [{"number": 10}], "lie in 1..9"),
        ("parts", [{"number": True}], "lie in 1..9"),
        ("parts", [{"number": 1, "share": 1}], "lie between 0 and 1"),
        ("parts", [{"number": 1, "share": "0.5"}], "lie between 0 and 1"),
        ("names", "a", "be a list of names"),
        ("names", ["a", 1], "be a list of names"),
        ("by_name", {"a": 1}, "hold texts by name"),
        ("files", {"a": "%"}, "hold at most 2 files in base64"),
        ("files", dict.fromkeys("abc", ""), "hold at most 2 files in base64"),
        ("paid", 1, "be true or false"),
        ("ends", [1], "be a list"),
        ("ends", ["a", 1], "be a list"),
        ("weight", float("nan"), "be a number"),
        ("weight", 10**400, "be a number"),
    ],
)
def test_what_does_not_fit_is_named(key: str, value: object, wanted: str) -> None:
    with pytest.raises(UnreadableError) as error:
        from_json(Order, {"name": "a", key: value})
    assert error.value.wanted.startswith(wanted)


def test_a_rule_may_say_what_to_do() -> None:
    with pytest.raises(UnreadableError) as error:
        from_json(Part, {"number": 0})
    assert (error.value.key, error.value.hint) == ("number", "count again")


def test_what_is_as_usual_is_not_given() -> None:
    order = Order(name="a", names=("b",), with_="c", paid=False)
    assert given_json(order) == {"name": "a", "names": ["b"], "with": "c"}
    assert given_json(Part(number=1)) == {"number": 1}
