"""What --dry-run tells of a search and a comparison: it builds and runs nothing."""

import json
from itertools import count

from buildbot_bench.cli.local_view import comparison_expected, search_expected
from buildbot_bench.core.compare.model import Verdict
from buildbot_bench.core.compare.schedule import BootLimits
from buildbot_bench.local.bisecting import Bisection
from buildbot_bench.local.comparing import Compare, Compared, LocalComparison
from buildbot_bench.local.revisions import Revisions
from tests.fakes.local_bench import ReadMeasurer, SilentWatcher


def told(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def test_a_search_is_forecast_before_anything_is_known_and_when_all_is(ask, bench_for, capsys):
    search, measurer = ask(build="true"), ReadMeasurer()
    bench = bench_for(search, measurer)
    bisection = Bisection(search, bench, SilentWatcher())
    assert search_expected(search, bisection.known(), as_json=False) == 0
    text = capsys.readouterr().out
    assert "assumed until there is one: a build takes 10 s, a run 5 s" in text
    assert text.startswith("(n1, n12], 11 commits: read on ")
    assert (measurer.seen, bench.images()) == ([], [])
    search_expected(search, bisection.known(), as_json=True)
    assert told(capsys)["iterations"]["median"] >= 6
    bisection.run()
    runs = len(measurer.seen)
    search_expected(search, bisection.known(), as_json=True)
    left = told(capsys)
    assert (left["known_iterations"], left["iterations"]["p90"]) == (runs, 0)
    assert left["warnings"] == []
    assert len(measurer.seen) == runs


def test_a_comparison_whose_budget_is_spent_ends_after_a_run_of_each(ask, bench_for, repository):
    search, measurer = ask(), ReadMeasurer()
    bench = bench_for(search, measurer, now=count().__next__)
    revisions = Revisions(git=repository.git)
    question = LocalComparison(
        variants=tuple(
            Compared(label=name, revision=revisions.one(name)) for name in ("n2", "n3", "main")
        ),
        limits=BootLimits(boots=5, images=1),
        min_effect=0.02,
        budget_s=1.0,
    )
    compare = Compare(question, bench, SilentWatcher())
    report = compare.run()
    assert compare.is_early
    assert len(measurer.seen) == 3
    assert {change.verdict for change in report.series[0].changes} == {Verdict.UNDECIDED}
    assert "the budget of 1.0 s is spent" in report.detail


def test_of_a_comparison_it_is_told_what_runs_and_builds_are_left(
    ask, bench_for, repository, capsys
):
    search, measurer = ask(build="true"), ReadMeasurer()
    bench = bench_for(search, measurer)
    revisions = Revisions(git=repository.git)
    question = LocalComparison(
        variants=tuple(
            Compared(label=name, revision=revisions.one(name)) for name in ("n2", "main")
        ),
        limits=BootLimits(boots=3, images=1),
        min_effect=0.02,
    )
    assert comparison_expected(question, bench, as_json=False) == 0
    text = capsys.readouterr().out
    assert "6 runs and 2 builds more, about 50 s; 0 runs known already" in text
    assert "assumed until there is one" in text
    assert (measurer.seen, bench.images()) == ([], [])
    Compare(question, bench, SilentWatcher()).run()
    comparison_expected(question, bench, as_json=True)
    left = told(capsys)
    assert (left["runs"], left["builds"], left["known_runs"]) == (0, 0, 6)
