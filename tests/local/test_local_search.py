"""A local search finds what a farm's would, goes on where it was, and says what is wrong."""

import re
import time
from dataclasses import replace
from itertools import count

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.report.evidence_model import Outcome
from buildbot_bench.core.report.model import ReportKind
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.local.bisecting import Bisection
from buildbot_bench.local.campaign import earlier_than, take_over
from buildbot_bench.local.known import ASSUMED_BUILD_S
from buildbot_bench.local.reports import report_of
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.render.message import report_text
from tests.fakes.local_bench import ReadMeasurer, SilentWatcher
from tests.gitrepo import Commit, add_commits
from tests.local.conftest import SLOWER_FROM


def run(ask, bench_for, measurer=None, **how):
    search = ask(**how)
    watcher = SilentWatcher()
    bench = bench_for(search, measurer or ReadMeasurer())
    return report_of(search, Bisection(search, bench, watcher).run()), watcher


def test_the_culprit_is_found_and_proved(ask, bench_for):
    report, watcher = run(ask, bench_for)
    assert report.kind is ReportKind.CULPRIT
    assert report.headline.new.subject == f"Change {SLOWER_FROM}"
    assert report.headline.effect == pytest.approx(-0.2, abs=0.01)
    assert watcher.courses[-1].forecast is None  # it is over before one would be told
    text = report_text(report)
    sha = report.headline.new.sha[:10]
    assert text.startswith(f'{sha} "Change {SLOWER_FROM}" lowered the value of read on ')
    assert "by bench-bisect --local" in text
    assert "--mark" not in text
    assert "the farm" not in text.lower()


def test_the_same_question_is_answered_without_another_run(ask, bench_for):
    first, _ = run(ask, bench_for)
    measurer = ReadMeasurer()
    again, _ = run(ask, bench_for, measurer)
    assert measurer.seen == []
    assert again.headline.new == first.headline.new


def test_each_run_keeps_its_times_and_the_answer_says_which_clock_shows_the_change(ask, bench_for):
    first = ReadMeasurer(waits=True)
    report, _ = run(ask, bench_for, first)
    assert report.clocks.startswith("Wall-clock time changes by +25 %")
    assert " ".join(report_text(report).split()).count(report.clocks) == 1
    told = to_json(report)
    assert told["clocks"] == report.clocks
    assert all(probe["times"]["executions"] == 7 for probe in told["probes"])
    assert first.asked == [0, *[7] * (len(first.seen) - 1)]
    search, measurer = ask(skip=("n3",)), ReadMeasurer(waits=True)
    bench = bench_for(search, measurer)
    bench.measure(bench.build(search.between.new, 0), print)
    assert measurer.asked == [7]


def test_a_value_that_is_too_coarse_is_told_before_the_first_build(ask, bench_for):
    search = ask()
    workload = CommandWorkload(run="read", value="user")
    search = replace(search, campaign=replace(search.campaign, workload=workload))
    watcher = SilentWatcher()
    Bisection(search, bench_for(search, ReadMeasurer()), watcher).run()
    assert watcher.notices[0].startswith("`user` has steps of")
    assert "measure `cpu`" in watcher.notices[0]


def test_a_search_whose_budget_is_spent_ends_with_its_suspects(ask, bench_for):
    search = replace(ask(), budget_s=12.5)
    measurer = ReadMeasurer(noise=0.02)
    bench = bench_for(search, measurer, now=count().__next__)
    report = report_of(search, Bisection(search, bench, SilentWatcher()).run())
    assert report.kind is ReportKind.INCONCLUSIVE
    assert report.unresolved
    runs = len(measurer.seen)
    assert 1 < runs <= 12
    assert "the budget of 12 s is spent" in report.reason
    longer = replace(search, budget_s=None)
    report = report_of(longer, Bisection(longer, bench, SilentWatcher()).run())
    assert report.kind is ReportKind.CULPRIT
    assert len(measurer.seen) > runs


def test_a_budget_that_is_spent_before_the_first_run_leaves_the_range_open(ask, bench_for):
    search = replace(ask(), budget_s=0.0)
    report = report_of(
        search, Bisection(search, bench_for(search, ReadMeasurer()), SilentWatcher()).run()
    )
    assert report.kind is ReportKind.INCONCLUSIVE


def test_a_search_that_probably_finds_nothing_says_so_and_forecasts_again(ask, bench_for):
    search = ask(upto=SLOWER_FROM - 1)
    watcher, slow = SilentWatcher(), count(step=20).__next__
    found = Bisection(search, bench_for(search, ReadMeasurer(noise=0.03), now=slow), watcher).run()
    assert not found.answer.steps
    assert any(one.startswith("probably nothing here: with 9") for one in watcher.notices)
    forecasts = {course.forecast.iterations for course in watcher.courses if course.forecast}
    assert len(forecasts) > 1


def test_another_build_is_another_campaign(ask, bench_for):
    run(ask, bench_for)
    measurer = ReadMeasurer()
    run(ask, bench_for, measurer, build="true")
    assert measurer.seen


def test_a_revision_that_does_not_build_is_stepped_around(ask, bench_for):
    lines = "echo warning; echo no such member; exit 1"
    build = f"test $(cat number) != {SLOWER_FROM - 1} || {{ {lines}; }}"
    report, watcher = run(ask, bench_for, build=build)
    assert [one.subject for one in report.headline.suspects] == [
        f"Change {SLOWER_FROM - 1}",
        f"Change {SLOWER_FROM}",
    ]
    (skipped,) = report.skipped
    assert skipped.reason == "the build ended with status 1 / warning / no such member"
    (told,) = (one for one in watcher.notices if "status 1" in one)
    assert told.endswith("\n  | warning\n  | no such member")


def test_a_skipped_revision_is_not_run(ask, bench_for):
    measurer = ReadMeasurer()
    report, _ = run(ask, bench_for, measurer, skip=(f"n{SLOWER_FROM}",))
    assert SLOWER_FROM not in measurer.seen
    assert len(report.headline.suspects) == 2


def test_an_end_that_does_not_build_is_an_error_with_the_last_lines(ask, bench_for):
    with pytest.raises(UsageError) as caught:
        run(ask, bench_for, build="echo no compiler here; exit 3")
    assert caught.value.message.startswith("OLD, n1 (")
    assert caught.value.message.endswith("\nno compiler here")
    assert "--skip" in caught.value.hint


def test_an_end_that_did_not_run_is_tried_again_by_the_same_command(ask, bench_for):
    failing = ReadMeasurer(failures=(UntestableRevision("it prints no number\nhello"),))
    with pytest.raises(UsageError, match="it prints no number"):
        run(ask, bench_for, failing)
    report, _ = run(ask, bench_for)
    assert report.kind is ReportKind.CULPRIT


def test_a_machine_that_fails_once_is_borne_and_one_that_fails_on_is_not(ask, bench_for):
    once = InfraError("the disk is nearly full")
    report, watcher = run(ask, bench_for, ReadMeasurer(failures=(None, once)))
    assert report.kind is ReportKind.CULPRIT
    assert "the disk is nearly full; trying again" in watcher.notices
    with pytest.raises(InfraError, match="the disk"):
        run(ask, bench_for, ReadMeasurer(failures=(once,) * MAX_FRUITLESS), build="true")


def test_builds_ahead_find_the_same(ask, bench_for):
    report, _ = run(ask, bench_for, build="cat number > made", ahead=2)
    assert report.headline.new.subject == f"Change {SLOWER_FROM}"


def test_builds_that_are_ended_say_nothing_of_their_revisions(ask, bench_for, checkout):
    search = ask(build="sleep 60", ahead=2)
    bench = bench_for(search, ReadMeasurer())
    bench.build_ahead((one, 0) for one in search.between.revisions[:4])
    deadline = time.monotonic() + 30
    while len(list((checkout / "bench" / "trees").glob("*/number"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    bench.end()
    assert bench.images() == []
    assert not (checkout / "bench" / "trees").exists()


def test_a_build_that_heeds_the_image_has_further_ones_measured(ask, bench_for):
    heeding, _ = run(ask, bench_for, build="echo $BENCH_IMAGE > made")
    assert any(probe.image for probe in heeding.probes)
    assert ("link order", "as the build makes it by BENCH_IMAGE") in {
        (fact.name, fact.new) for fact in heeding.setup
    }


def test_a_build_that_heeds_no_image_is_told_so(ask, bench_for):
    report, watcher = run(ask, bench_for, build="true")
    assert not any(probe.image for probe in report.probes)
    assert any("is the same as without" in notice for notice in watcher.notices)
    assert report.kind is ReportKind.CULPRIT
    assert not report.headline.separated
    (check,) = (one for one in report.checks if one.name == "images agree")
    assert check.outcome is Outcome.NOT_MADE
    assert check.detail == (
        "The link order was not varied (one: the build does not heed BENCH_IMAGE); "
        "randomised for each run: nothing."
    )
    assert report.disclaimer == ""  # nobody could have made it


def test_without_a_build_no_images_are_said_to_agree(ask, bench_for):
    report, _ = run(ask, bench_for)
    (check,) = (one for one in report.checks if one.name == "images agree")
    assert (check.outcome, report.headline.separated) == (Outcome.NOT_MADE, False)
    assert "(nothing is built)" in check.detail


def test_the_report_speaks_of_runs_and_builds(ask, bench_for):
    report, _ = run(ask, bench_for)
    told = report_text(report)
    assert re.search(r"\d+ runs took [\d.]+ \w+ of machine time", told)
    assert not re.search(r"\b(boot(s|ed)?|kernels?|lab|line rate|control image)\b", told)


def test_a_step_does_not_pass_for_luck_with_a_layout_that_cannot_be_varied(ask, bench_for):
    policies = {}
    for build in ("true", "echo $BENCH_IMAGE > made"):
        run(ask, bench_for, build=build)
        search = ask(build=build)
        known = Bisection(search, bench_for(search, ReadMeasurer()), SilentWatcher()).known()
        policies[build] = known.policy
    alike, heeding = policies.values()
    assert (alike.images, alike.layout, alike.sigma_build) == (False, False, 0.0)
    assert heeding.images
    assert heeding.sigma_build > 0


def test_a_fix_is_carried_to_revisions_that_lack_it(ask, bench_for, checkout, repository):
    add_commits(checkout, [Commit(files={"mended": "yes"})], branch="fix", on="main~3")
    fix = Revisions(git=repository.git).sha("fix")
    report, _ = run(ask, bench_for, build="test -f mended", fix=fix)
    assert report.headline.new.subject == f"Change {SLOWER_FROM}"
    assert report.setting.carried.applied >= 2
    assert report.setting.carried.left_out == ()


def test_what_failed_is_tried_again_where_it_is_asked_for(ask, bench_for, tmp_path):
    """It is one cause for which a verdict may be wrong: a header that the machine had not."""
    build = f"test $(cat number) != {SLOWER_FROM} || test -e {tmp_path}/header"
    first, _ = run(ask, bench_for, build=build)
    (tmp_path / "header").touch()
    same, _ = run(ask, bench_for, build=build)
    assert len(first.headline.suspects) == len(same.headline.suspects) == 2
    again, _ = run(ask, bench_for, build=build, again=(f"n{SLOWER_FROM}",))
    assert [one.subject for one in again.headline.suspects] == [f"Change {SLOWER_FROM}"]


def test_builds_that_did_not_fail_stay_valid_where_it_is_said(ask, bench_for, repository):
    """A search by a command that fails at the culprit, and one by a command that does not."""
    broken = f"test $(cat number) != {SLOWER_FROM}; "
    first = ask(build=broken + "test $? = 0")
    measurer = ReadMeasurer()
    Bisection(first, bench_for(first, measurer), SilentWatcher()).run()
    second = ask(build=broken + "true")
    bench = bench_for(second, measurer)
    assert not bench.images()
    earlier = earlier_than(second.campaign, repository)
    good = [row for row in repository.store.images(first.campaign.recipe.digest) if not row.reason]
    assert list(earlier.builds) == good
    assert earlier.runs == len(measurer.seen)
    assert bench.known(second).costs.build_s < ASSUMED_BUILD_S
    take_over(earlier, bench.id, second.campaign.recipe.digest, repository)
    assert earlier_than(second.campaign, repository) is None
    assert len(bench.images()) == len(good)
    assert all(bench.has(row) for row in bench.images())
    before = len(measurer.seen)
    report = report_of(second, Bisection(second, bench, SilentWatcher()).run())
    assert [one.subject for one in report.headline.suspects] == [f"Change {SLOWER_FROM}"]
    assert SLOWER_FROM in measurer.seen[before:]
    assert len(report.probes) == len(measurer.seen)


def test_ends_that_do_not_differ_are_told_with_what_was_measured(ask, bench_for):
    search = ask(upto=SLOWER_FROM - 1)
    found = Bisection(search, bench_for(search, ReadMeasurer()), SilentWatcher()).run()
    report = report_of(search, found)
    assert report.kind is ReportKind.NOT_REPRODUCED
    said = r"The measured difference is [+-]0\.\d\d %, with a 95 % interval of \S+ % to \S+ %\."
    assert re.search(said, " ".join(report_text(report).split()))
