"""What a comparison came to, for programs: its JSON keeps to the schema of its own types."""

import json
from dataclasses import fields

import pytest
from jsonschema import Draft202012Validator

from buildbot_bench.core.compare.model import (
    ComparisonReport,
    FlameGraphs,
    SeriesReport,
    SeriesValues,
    VariantChange,
)
from buildbot_bench.core.json_model import schema_of, to_json
from buildbot_bench.core.sample import PPS
from tests.fakes.compared import comparison_of

GRAPHS = FlameGraphs(base="b.svg", new="n.svg", difference="d.svg")


def composed(*values: tuple[float, ...]) -> ComparisonReport:
    series = SeriesValues(
        testbed="apu",
        workload="forwarding",
        metric=PPS,
        values=values,
        facts={"cpu": "AMD"},
        flame_graphs=dict.fromkeys(range(1, len(values)), GRAPHS),
    )
    return comparison_of([series], comparison_id=3)


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
    Draft202012Validator(schema_of(ComparisonReport, title="A comparison")).validate(told)
    (series,) = told["series"]
    (change,) = series["changes"]
    assert change["effect"] == effect
    if effect is None:
        assert (change["low"], change["high"]) == (None, None)
    else:
        assert change["low"] < change["effect"] < change["high"]


def test_every_field_is_there() -> None:
    told = to_json(composed((1.0, 2.0, 3.0), (1.0, 2.0, 3.0)))
    assert {field.name for field in fields(ComparisonReport)} | {"title"} == set(told)
    (series,) = told["series"]
    assert {field.name for field in fields(SeriesReport)} == set(series)
    (change,) = series["changes"]
    figures = {"effect", "low", "high", "p_value"}
    assert {field.name for field in fields(VariantChange)} | figures == set(change)
    assert change["flame_graphs"] == {"base": "b.svg", "new": "n.svg", "difference": "d.svg"}


def test_variants_are_a_list_with_the_base_first() -> None:
    told = to_json(composed(*((float(n), n + 1.0, n + 2.0) for n in range(5))))
    assert [variant["label"] for variant in told["variants"]] == ["r1", "r2", "r3", "r4", "r5"]
    (series,) = told["series"]
    assert [change["label"] for change in series["changes"]] == ["r2", "r3", "r4", "r5"]
    assert [len(sample["values"]) for sample in series["samples"]] == [3] * 5
