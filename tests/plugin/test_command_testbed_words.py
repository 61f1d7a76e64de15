"""A farm whose testbeds run commands says runs and builds, and nowhere boots and kernels.

The same past is told twice: once by testbeds that run a command, once by testbeds that boot.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.item import COMMAND_FACT
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.follow_ups import MAX_ROUNDS
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.db.columns import SearchKind
from buildbot_bench.plugin.queries.breakage_views import breakage_report, recovery_report
from buildbot_bench.plugin.queries.commit_views import commit
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.overview import lab, overview
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.rest.views import no_ops
from buildbot_bench.render.html import report_html, report_markdown
from buildbot_bench.render.message import (
    notice_html,
    notice_text,
    report_text,
)
from tests.fakes.breaking_lab import Lab, broken_since
from tests.fakes.past import boots

COMMAND = {COMMAND_FACT: "./bench-compress corpus.tar"}
OF_KERNELS = re.compile(r"\b(re)?(boot(s|ed|ing)?|kernels?|packets?|DUT)\b", re.IGNORECASE)
USUAL = 100.0
# What programs compare, and no person reads.
_NAMES = frozenset({"kind"})


def strings(value: Any) -> Iterator[str]:
    """What a reader sees of JSON: its texts, without the names of fields."""
    match value:
        case dict():
            for name, one in value.items():
                if name not in _NAMES:
                    yield from strings(one)
        case list() | tuple():
            for one in value:
                yield from strings(one)
        case str():
            yield value


def said(value: Any) -> str:
    """All words that tell of kernels, each with the text that has it."""
    return "\n".join(text for text in strings(value) if OF_KERNELS.search(text))


@pytest.fixture
def runs(past):
    past.facts, past.unit = COMMAND, "MB/s"
    return past


async def judged(past, level) -> list[str]:
    """The reasons of all verdicts on ten revisions and a new one, until nothing more is asked."""
    judging = Judging(past.farm)
    await past.commits(*range(1, 12))
    for position in range(1, 11):
        values = boots(level(position), series=position)
        await past.measured(position, values, judged=True)
    await past.measured(11, boots(0.9 * USUAL, series=11))
    reasons = []
    for _ in range(MAX_ROUNDS + 2):
        await judging.advance()
        reasons += [row.verdict.reason for row in await past.farm.store.judgements()]
        if not await past.lab_answers(level):
            return reasons
    raise AssertionError("the judge asks for ever")


def slower(position: int) -> float:
    return USUAL if position < 11 else 0.9 * USUAL


async def test_why_an_alarm_was_raised_is_told_of_runs(runs):
    reasons = await judged(runs, slower)
    assert reasons[-1].endswith("Fresh runs of both sides show it")
    assert said(reasons) == ""


async def test_why_none_was_raised_is_told_of_runs(runs):
    reasons = await judged(runs, lambda _: USUAL)
    assert "runs" in reasons[-1]
    assert said(reasons) == ""


async def test_the_same_past_of_kernels_is_told_of_boots(past):
    assert (await judged(past, slower))[-1].endswith("Fresh boots of both sides show it")


async def searched(past):
    step = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
    other = replace(step, old=8, new=9, effect=0.1, low=0.09, high=0.11)
    answer = Answer(steps=(step, other), reproduced=True, unresolved=(), reason="located")
    search = await past.answered(answer, unit=past.unit)
    asked = {"search_id": search.id, "reason": "search"}
    for position, level in ((1, 100.0), (6, 100.0), (7, 80.0), (9, 80.0), (10, 88.0), (11, 88.0)):
        await past.measured(position, boots(level, series=position), **asked)
    await past.image(4, state="untestable", reason="make ended with status 2")
    return search


async def test_a_report_is_told_of_runs_and_builds_in_all_its_forms(runs, farm):
    report = await report_of(farm, await searched(runs))
    for written in (report_text(report), report_html(report), report_markdown(report)):
        assert said(written) == ""
        assert re.search(r"\d+\s+runs", written)
        assert re.search(r"r7\S*s\s+build", written)


async def test_a_build_that_heeds_no_image_is_told_with_what_was_randomised(runs, farm):
    runs.facts = COMMAND | {"randomised": "the size of the environment"}
    search = await searched(runs)
    await runs.commits(*range(1, 12))
    again = {"digest": (await farm.store.image_at("main", 7)).digest}
    await runs.measured(await runs.image(7, ordinal=1, **again), boots(80.0), reason="search")
    report = await report_of(farm, search)
    (check,) = [one for one in report.checks if one.name == "images agree"]
    assert (str(check.outcome), report.headline.separated) == ("not made", False)
    assert check.detail == (
        "The link order was not varied (one: the build does not heed BENCH_IMAGE); randomised for "
        "each run: the size of the environment."
    )


async def test_pages_and_commands_read_the_same_words(runs, farm):
    search = await searched(runs)
    await runs.commits(*range(1, 12))
    await runs.search(1, 11)
    await runs.probe(3, search_id=search.id)
    await runs.probe(await runs.image(8, state="wanted"))
    views = SearchViews(farm)
    told = [
        await views.describe(search.id),
        await views.probes(search.id),
        await lab(farm),
        await overview(farm),
        await commit(farm, "r7"),
        await no_ops(farm),
    ]
    assert said(told) == ""
    assert told[0]["nouns"] == {"iteration": "run", "built": "build", "place": "machine"}
    assert told[2]["testbeds"][0]["nouns"]["iteration"] == "run"
    assert "waiting for its build" in set(strings(told[2]))


async def test_a_farm_of_both_says_of_each_testbed_what_it_does(runs, farm):
    await runs.measured(1, boots(USUAL))
    runs.facts = {"uname": "FreeBSD 15.0"}
    await runs.measured(1, boots(1e6), testbed="xeon")
    shown = await lab(farm)
    nouns = {one["testbed"]: one["nouns"]["iteration"] for one in shown["testbeds"]}
    assert nouns == {"apu": "run", "xeon": "boot"}
    assert shown["nouns"]["built"] == "kernel"


async def test_a_comparison_is_counted_in_runs(runs, farm):
    await runs.measured(1, boots(USUAL))
    question = ComparisonQuestion(
        variants=("r1", "r2"),
        labels={},
        testbeds=("apu",),
        workloads=("forwarding",),
        iterations=3,
        images=1,
        patches={},
        min_effect=0.02,
    )
    started = await ComparisonRequests(farm).start(question, requester="ann", trusted=True)
    shown = await ComparisonViews(farm).describe(started["comparisonid"])
    assert started["nouns"]["iteration"] == shown["nouns"]["iteration"] == "run"
    assert said([started, shown]) == ""


async def test_an_identical_build_closes_its_request_as_a_build(runs, farm, master):
    same = {"state": "built", "digest": "5" * 64, "size": 9}
    await runs.commits(1, 2)
    await runs.measured(await runs.image(1, **same), boots(USUAL))
    await runs.probe(await runs.image(2, **same))
    await Issuer(farm, master).issue()
    reasons = [row.verdict.reason for row in await farm.store.judgements()]
    assert reasons == ["no-op change: same build as r1"]


async def test_a_command_that_fails_since_a_commit_is_mailed_as_a_run_that_fails(runs, farm):
    truth = broken_since(7)
    lab_of_commands = Lab(runs, truth)
    await lab_of_commands.came(2, 14, 15, 16)
    await runs.commits(*range(2, 17))
    await lab_of_commands.settle()
    (search,) = await farm.store.searches(kinds=(SearchKind.BOOT,))
    report = await breakage_report(farm, search)
    assert report.subject.startswith("[bench] does not run forwarding on apu since r7")
    assert report.summary.startswith("A run of forwarding on apu fails since r7.")
    assert [one.outcome for one in report.tried][:1] == ["runs"]
    assert report.tried[-1].outcome == "does not run"
    for written in (notice_text(report), notice_html(report)):
        assert said(written) == ""
    assert said(await SearchViews(farm).describe(search.id)) == ""
    lab_of_commands.truth = broken_since(7, until=17)
    await runs.commits(*range(17, 19))
    await lab_of_commands.came(17, 18)
    await lab_of_commands.settle()
    recovered = await recovery_report(
        farm, await farm.store.search(search.id), found=report.subject
    )
    assert recovered.subject == "[bench] runs forwarding on apu again since r17"
    for written in (notice_text(recovered), notice_html(recovered)):
        assert said(written) == ""
