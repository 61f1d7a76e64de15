"""What a comparison came to, for programs: its JSON keeps to the schema of its own types."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from jsonschema import Draft202012Validator

from buildbot_bench.core.json_model import schema_of, to_json
from buildbot_bench.core.sample import PPS
from buildbot_bench.core.trial import (
    FlameGraphs,
    LaneReport,
    LaneValues,
    TrialReport,
    compose_trial,
)

GRAPHS = FlameGraphs(base="b.svg", new="n.svg", difference="d.svg")


def composed(base: tuple[float, ...], new: tuple[float, ...]) -> TrialReport:
    lane = LaneValues(
        testbed="apu",
        workload="forwarding",
        metric=PPS,
        base=base,
        new=new,
        facts={"cpu": "AMD"},
        flame_graphs=GRAPHS,
    )
    return compose_trial(
        [lane], trial_id=3, base="r1", new="r2", iterations=5, confidence=95.0, min_effect=0.02
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
    Draft202012Validator(schema_of(TrialReport, title="A comparison")).validate(told)
    (lane,) = told["lanes"]
    assert lane["effect"] == effect
    if effect is None:
        assert (lane["low"], lane["high"]) == (None, None)
    else:
        assert lane["low"] < lane["effect"] < lane["high"]


def test_every_field_is_there() -> None:
    told = to_json(composed((1.0, 2.0, 3.0), (1.0, 2.0, 3.0)))
    assert {field.name for field in fields(TrialReport)} == set(told)
    (lane,) = told["lanes"]
    assert {field.name for field in fields(LaneReport)} | {"effect", "low", "high"} == set(lane)
    assert lane["flame_graphs"] == {"base": "b.svg", "new": "n.svg", "difference": "d.svg"}
