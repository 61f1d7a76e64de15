"""How constants are halved and doubled, and that workers see it."""

import inspect
import json

import pytest

from benchmarks import sensitivity
from benchmarks.worlds.runs import BY_NAME
from buildbot_bench.core.model import constants


@pytest.mark.parametrize(
    ("value", "factor", "unit", "scaled"),
    [
        (0.12, 2.0, "ln of the metric", 0.24),
        (0.5, 2.0, "share of images", 2 / 3),
        (0.5, 0.5, "probability", 1 / 3),
        (3, 0.5, "boots", 2),
        (1, 0.5, "boots", 1),
        ((1.0, 5.0), 2.0, "standard deviations", (2.0, 10.0)),
    ],
)
def test_a_share_stays_a_share_and_a_count_a_count(value, factor, unit, scaled):
    assert sensitivity.scaled(value, factor, unit) == pytest.approx(scaled)


@pytest.mark.parametrize("name", sensitivity.units())
def test_each_constant_of_the_model_has_another_value(name):
    value = getattr(constants, name)
    assert sensitivity.scaled(value, 2.0, sensitivity.units()[name]) != value


def test_each_constant_of_the_model_has_its_unit_and_source_below_it():
    assert set(sensitivity.units()) == {name for name in vars(constants) if name.isupper()}
    source = inspect.getsource(constants)
    assert source.count(". Source: ") == source.count(" = ") == len(sensitivity.units())


def test_the_rows_are_there():
    assert set(sensitivity.ROWS) <= set(BY_NAME)


def test_each_constant_is_halved_and_doubled_where_the_searches_run(tmp_path, capsys):
    before = constants.EFFECT_SCALES
    args = ["--only=EFFECT_SCALES", "--replicates=1", "--jobs=1", f"--out={tmp_path}"]
    assert sensitivity.main(args) == 0
    assert capsys.readouterr().out.count("EFFECT_SCALES") == 2
    assert before == constants.EFFECT_SCALES
    (constant,) = json.loads((tmp_path / "sensitivity.json").read_text())["constants"]
    assert [moved["factor"] for moved in constant["moved"]] == [0.5, 2.0]
