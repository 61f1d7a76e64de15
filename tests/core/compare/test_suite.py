"""All values of a suite compared: what takes part, when it is enough, and what is said of it."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from buildbot_bench.core.compare.model import (
    ComparisonReport,
    SeriesValues,
    Verdict,
)
from buildbot_bench.core.compare.schedule import BootLimits, VariantPlan, more_for_all
from buildbot_bench.core.compare.suite import MOST_ROWS, changed_rows, in_columns, suite_series
from buildbot_bench.core.compare.text import markdown, outcome, text
from buildbot_bench.core.compare.verdict import (
    ComparisonTerms,
    NoDifference,
    Undecided,
    VerdictTerms,
    compare_sides,
    compared,
)
from buildbot_bench.core.contrast.needed import MoreOfEach
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.metric import Metric
from tests.fakes.compared import comparison_of

RUNS = SeriesValues(
    testbed="laptop",
    workload="bench",
    metric=Metric(name="number of values", unit="values"),
    values=((), ()),
    kernels=(-1, -1),
    single=("nothing is built",) * 2,
    item=ItemUnderTest.COMMAND,
)


def metric(name: str, unit: str = "ns") -> Metric:
    return Metric(name=name, unit=unit, higher_is_better=False)


def series(
    names: int, runs: int, effects: dict[int, float], *, noise: float = 0.004, seed: int = 1
):
    """Values of `names` benchmarks; those of the new side differ by `effects`, in logarithms."""
    rng = np.random.default_rng([20261129, seed])
    logs = rng.normal(0, noise, (names, 2, runs))
    for name, effect in effects.items():
        logs[name, 1] += effect
    return [
        replace(
            RUNS,
            metric=metric(f"BM_sort<int>/{n}"),
            values=tuple(tuple((100 * (n + 1) * np.exp(own)).tolist()) for own in logs[n]),
            booted=((0,) * runs,) * 2,
        )
        for n in range(names)
    ]


def report(values: list[SeriesValues], left_out: dict[str, str]) -> ComparisonReport:
    return comparison_of(
        values, {"base": "1111111 Begin", "new": "2222222 Change"}, iterations=10, left_out=left_out
    )


def test_what_is_not_above_zero_in_every_run_of_all_is_left_out() -> None:
    a, zero, lost, odd, nan = map(metric, ("a", "zero", "lost", "odd", "nan"))
    base = {a: 1.0, zero: 1.0, lost: 1.0, odd: 1.0, nan: 1.0, metric("other"): 1.0}
    new = {a: 2.0, zero: 0.0, odd: 2.0, nan: math.nan, metric("other", "s"): 1.0}
    found, left_out = suite_series(
        RUNS, [[base, base], [new, {a: 3.0, zero: 1.0, nan: 1.0}]], ["base", "new"]
    )
    assert [(one.metric, one.values) for one in found] == [(a, ((1.0, 1.0), (2.0, 3.0)))]
    assert left_out == {
        "zero": "0 in new, not above 0",
        "lost": "not in new",
        "odd": "not in every run of new",
        "nan": "no number in new",
        "other": "its unit is not the same everywhere",
    }


def test_the_answer_is_a_sentence_a_table_and_what_is_left(golden) -> None:
    effects = {n: (0.03 + 0.002 * n) * (-1 if n % 9 == 0 else 1) for n in range(50)}
    values = series(60, 10, effects)
    long = "tests/performance/test_parsing.py::test_large_documents[utf-8-with-many-attributes]"
    values[49] = replace(values[49], metric=metric(long))
    left_out = {f"BM_gone/{n}": "not in new" for n in range(12)}
    found = report(values, left_out)
    said = text(found)
    assert " ".join(said.partition("\n\n")[0].split()) == outcome(found)
    assert max(map(len, said.splitlines())) <= 80
    golden("comparison/suite.txt", said)
    golden("comparison/suite.md", markdown(found))
    alone = report(series(3, 10, {}), {})
    assert text(alone).startswith("None of 3 values is worse or better.\n\n3 without a difference")
    one = report(series(3, 10, {1: 0.1}), {})
    assert outcome(one).startswith("1 of 3 values is worse: BM_sort<int>/1 by 10.")


@given(st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=60))
@settings(max_examples=15, deadline=None)
def test_the_largest_changes_are_shown_and_all_are_counted(effects: list[float]) -> None:
    found = report(series(len(effects), 5, dict(enumerate(effects)), noise=0.002), {})
    verdicts = [change.verdict for one in found.series for change in one.changes]
    worse, better = verdicts.count(Verdict.WORSE), verdicts.count(Verdict.BETTER)
    rows = changed_rows(found)[1:]
    assert len(rows) == min(worse + better, MOST_ROWS)
    sizes = [abs(float(row[3].removesuffix(" %"))) for row in rows]
    assert all(first >= second for first, second in pairwise(sizes))
    assert (f"{worse} of {len(effects)} values" in outcome(found)) == (worse > 0)
    shown = in_columns(changed_rows(found))
    assert all(len("  ".join(row)) <= 80 for row in shown)


def test_names_of_strangers_do_nothing_in_markdown() -> None:
    values = [replace(series(1, 10, {0: 0.2})[0], metric=metric("a|b` <img src=x> **c**"))]
    said = markdown(report(values, {"x`y": "not in new"}))
    assert "| `a\\|b' <img src=x> **c**` |" in said
    assert "  * `x'y`: not in new" in said


def test_runs_go_on_while_a_value_is_left_that_the_limits_let_decide() -> None:
    plans = [VariantPlan(boots={0: 5}), VariantPlan(boots={0: 5})]
    limits = BootLimits(boots=40, images=1)

    def more(*needs: int) -> int:
        verdicts = [{1: Undecided(needs=MoreOfEach(boots=n, images=0))} for n in needs]
        return more_for_all([*verdicts, {1: NoDifference(least=0.02)}], plans, limits)[1].boots[0]

    assert [more(), more(36), more(99), more(36, 3), more(35, 3)] == [5, 5, 5, 10, 10]
    alone = [{1: Undecided(needs=MoreOfEach(boots=99, images=0))}]
    assert more_for_all(alone, plans, limits)[1].boots[0] == 10


def test_a_hundred_values_of_alike_code_have_none_that_is_worse() -> None:
    wrong = 0
    for seed in range(8):
        for runs in (5, 40):
            terms = ComparisonTerms(min_effect=0.005, confidence=95.0, values=100)
            values = series(100, runs, {}, noise=0.02, seed=seed)
            kinds = {compared(one, 1, terms).verdict.kind for one in values}
            wrong += bool(kinds & {"worse", "better"})
    assert wrong == 0  # .16 of these 16 are expected to be


@pytest.mark.parametrize("runs", [3, 5, 40])
@pytest.mark.parametrize("chance", [1e-4, 1e-6, 1e-8])
def test_far_tails_are_those_of_student(runs: int, chance: float) -> None:
    rng = np.random.default_rng(runs)
    base, new = (own - own.mean() for own in rng.normal(0, 1, (2, runs)))
    sigma = math.sqrt(((base**2).sum() + (new**2).sum()) / (2 * runs - 2))
    new = new + stats.t.isf(chance / 2, 2 * runs - 2) * sigma * math.sqrt(2 / runs)
    sides = ({0: np.exp(0.02 * own / sigma).tolist()} for own in (base, new))
    terms = VerdictTerms(min_effect=0.02, layout=False, boots=False)
    found = compare_sides(*sides, None, terms).chance
    # What is assumed of runs counts as one of them, which tells where there are three.
    assert chance / (60 if runs == 3 else 8) < found < 4 * chance


def test_more_values_ask_for_more_certainty() -> None:
    (one,) = series(1, 10, {0: 0.035}, noise=0.015)
    terms = ComparisonTerms(min_effect=0.02, confidence=95.0)
    assert compared(one, 1, terms).verdict.kind == "worse"
    assert compared(one, 1, replace(terms, values=300)).verdict.kind == "undecided"
