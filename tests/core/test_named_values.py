"""The named values of a run: what a lab may say of them, how they are packed, and their mean."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import (
    LONGEST_NAME,
    MOST_VALUES,
    Metric,
    heard,
    overall,
    pack,
    pack_names,
    unpack,
    unpack_names,
    wired,
)

PRINTABLE = st.characters().filter(str.isprintable)
METRICS = st.builds(
    Metric,
    name=st.text(PRINTABLE, min_size=1, max_size=LONGEST_NAME),
    unit=st.text(PRINTABLE, max_size=40),
    higher_is_better=st.booleans(),
)
NAMED = st.lists(METRICS, unique_by=lambda one: one.name, max_size=20).flatmap(
    lambda metrics: st.fixed_dictionaries({one: st.floats() for one in metrics})
)


def time(name: str, *, better: bool = False, unit: str = "ns") -> Metric:
    return Metric(name=name, unit=unit, higher_is_better=better)


@given(NAMED)
def test_what_goes_over_the_wire_and_into_a_row_comes_back(named):
    finite = {one: value if math.isfinite(value) else math.nan for one, value in named.items()}
    back = heard(json.loads(json.dumps(wired(named), allow_nan=False)))
    assert list(back) == list(named)
    assert repr(back) == repr(finite)  # NaN is no NaN
    _, body = pack_names(named)
    assert unpack_names(body) == tuple(named)
    packed = pack(list(named.values()))
    assert repr(tuple(unpack(packed))) == repr(tuple(named.values()))
    for place, value in enumerate(named.values()):
        assert repr(tuple(unpack(packed[8 * place :][:8]))) == repr((value,))


@pytest.mark.parametrize(
    "told",
    [
        "BM",
        {"BM": 1.0},
        [["BM", "ns", False]],
        [["", "ns", False, 1.0]],
        [["B\nM", "ns", False, 1.0]],
        [["BM\x1b[2J", "ns", False, 1.0]],
        [["BM\u202e", "ns", False, 1.0]],
        [["x" * (LONGEST_NAME + 1), "ns", False, 1.0]],
        [["BM", "n" * 41, False, 1.0]],
        [["BM", "ns", 0, 1.0]],
        [["BM", "ns", False, "1"]],
        [["BM", "ns", False, [1.0]]],
        [["BM", "ns", False, 1.0], ["BM", "s", False, 1.0]],
        [[f"BM_{n}", "ns", False, 1.0] for n in range(MOST_VALUES + 1)],
    ],
)
def test_what_is_no_list_of_named_values_is_refused(told):
    with pytest.raises(InfraError, match="named value") as error:
        heard(told)
    assert str(error.value).isprintable()


def test_a_path_is_a_name_like_any_other():
    assert heard([["../../etc/passwd", "", True, -1]]) == {
        time("../../etc/passwd", better=True, unit=""): -1.0
    }


@pytest.mark.parametrize("said", ["NaN", "Infinity", "-Infinity", "1e999", f"-1{'0' * 400}"])
def test_what_a_lab_says_that_is_no_number_is_none(said):
    (value,) = heard(json.loads(f'[["BM", "ns", false, {said}]]')).values()
    assert math.isnan(value)


@given(
    st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=9), st.floats(0.5, 2.0), st.integers(0, 8)
)
def test_the_mean_changes_alike_whichever_value_changes(values, factor, which):
    named = {time(f"BM_{n}"): value for n, value in enumerate(values)}
    one = list(named)[which % len(named)]
    metric, before = overall(named)
    other, after = overall(named | {one: named[one] * factor})
    assert metric == other
    assert after / before == pytest.approx(factor ** (1 / len(named)))


def test_the_mean_of_another_set_of_values_has_another_unit():
    first, second = {time("a"): 2.0}, {time("a"): 2.0, time("b"): 8.0}
    units = {
        overall(named)[0].unit
        for named in (first, second, second | {time("c"): 0.0}, {time("a"): 2.0, time("c"): 8.0})
    }
    assert len(units) == 3  # a value of 0 is in no mean
    assert overall(second)[1] == pytest.approx(4.0)
    assert overall({time("a"): math.nan, time("b"): -1.0}) is None


def test_where_more_is_better_in_some_alone_those_count_inversely():
    rate, cost = time("rate", better=True, unit="ops/s"), time("cost")
    metric, value = overall({rate: 8.0, cost: 2.0})
    assert (metric.higher_is_better, metric.unit[:17]) == (False, "mixed (2 values #")
    assert value == pytest.approx(0.5)
    assert overall({rate: 8.0})[0].higher_is_better
