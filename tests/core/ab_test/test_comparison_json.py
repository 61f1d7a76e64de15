"""What a comparison came to, for programs: its JSON keeps to the schema of its own types."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from jsonschema import Draft202012Validator

from buildbot_bench.core.ab_test import (
    AbTestReport,
    FlameGraphs,
    SeriesReport,
    SeriesValues,
    compose_ab_test,
)
from buildbot_bench.core.json_model import schema_of, to_json
from buildbot_bench.core.sample import PPS

GRAPHS = FlameGraphs(base="b.svg", new="n.svg", difference="d.svg")


def composed(base: tuple[float, ...], new: tuple[float, ...]) -> AbTestReport:
    series = SeriesValues(
        testbed="apu",
        workload="forwarding",
        metric=PPS,
        base=base,
        new=new,
        facts={"cpu": "AMD"},
        flame_graphs=GRAPHS,
    )
    return compose_ab_test(
        [series],
        comparison_id=3,
        base="r1",
        new="r2",
        iterations=5,
        confidence=95.0,
        min_effect=0.02,
    )


@pytest.mark.parametrize(
    ("base", "new", "effect"),
    [
        ((100.0, 101.0, 99.0), (110.0, 111.0, 109.0), pytest.approx(0.1)),
        ((0.0, 0.0, 0.0), (110.0, 111.0, 109.0), None),
        ((100.0,), (), None),
    ],
)
def test_the_effect_has_its_interval_or_is_null_with_it(base, new, effect) -> None:
    told = json.loads(json.dumps(to_json(composed(base, new)), allow_nan=False))
    Draft202012Validator(schema_of(AbTestReport, title="A comparison")).validate(told)
    (series,) = told["series"]
    assert series["effect"] == effect
    if effect is None:
        assert (series["low"], series["high"]) == (None, None)
    else:
        assert series["low"] < series["effect"] < series["high"]


def test_every_field_is_there() -> None:
    told = to_json(composed((1.0, 2.0, 3.0), (1.0, 2.0, 3.0)))
    assert {field.name for field in fields(AbTestReport)} == set(told)
    (series,) = told["series"]
    assert {field.name for field in fields(SeriesReport)} | {"effect", "low", "high"} == set(series)
    assert series["flame_graphs"] == {"base": "b.svg", "new": "n.svg", "difference": "d.svg"}
