"""The report of a search, put together from the tables when somebody asks."""

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.queries.reports import answer_of, probe_records, report_of
from buildbot_bench.render.html import report_html, report_markdown
from buildbot_bench.render.message import report_text
from tests.fakes.other_package import import_from, install
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=((1, 2),), reason="located")


async def test_an_answer_comes_back_as_it_was_stored(past, farm):
    search = await past.answered(ANSWER)
    assert answer_of(await farm.store.search(search.id)) == ANSWER


async def test_a_search_that_failed_has_found_nothing_and_says_why(past):
    failed = answer_of(await past.search(state="failed", detail="no power", ended_at=1.0))
    assert (failed.steps, failed.reason) == ((), "no power")
    cancelled = answer_of(await past.search(state="cancelled", ended_at=1.0))
    assert cancelled.reason == "the search was cancelled"


async def test_the_report_names_the_culprit_with_what_was_measured_on_both_sides(past, farm):
    await past.measured(6, boots(1e6), reason="search")
    await past.measured(7, boots(0.8e6), reason="search")
    report = await report_of(farm, await past.answered(ANSWER))
    assert report.headline.new.label == "r7"
    assert report.headline.contrast.old.values == boots(1e6)
    assert report.headline.contrast.new.values == boots(0.8e6)
    assert (report.old.label, report.new.label, report.commits) == ("r1", "r11", 10)
    assert report.mailable


async def test_the_report_says_where_it_comes_from_and_whom_to_ask(past, farm):
    search = await past.answered(ANSWER)
    setting = (await report_of(farm, search)).setting
    assert (setting.testbed, setting.workload, setting.farm) == ("apu", "forwarding", "Tests")
    assert setting.url == f"http://farm.example.org/#/bench/searches/{search.id}"
    assert setting.operator == "ops@example.org"


async def test_the_report_says_what_could_not_be_tested_and_why(past, farm):
    await past.image(4, state="untestable", reason="error: no such field")
    (skipped,) = (await report_of(farm, await past.answered(ANSWER))).skipped
    assert (skipped.first.label, skipped.reason) == ("r4", "error: no such field")


async def test_a_probes_iterations_stand_in_the_log_in_their_order(past, farm):
    search = await past.search()
    probe = await past.measured(1, (1e6, 2e6), search_id=search.id, reason="search")
    await past.add(probe, 0, 17.0, unit="packets/CPU-s")
    await past.measured(11, (3e6,), search_id=search.id, reason="search")
    records = await probe_records(farm, search)
    assert [(r.serial, r.label, r.value, r.unit) for r in records] == [
        (1, "r1", 1e6, "pps"),
        (1, "r1", 2e6, "pps"),
        (2, "r11", 3e6, "pps"),
    ]


async def test_a_probe_that_gave_nothing_stands_there_with_its_reason(past, farm):
    search = await past.search()
    asked = {"search_id": search.id, "reason": "search"}
    await past.probe(1, **asked, state="lost", failure="no power")
    await past.probe(2, **asked, state="cancelled")
    records = await probe_records(farm, search)
    assert [(r.label, r.value, r.failure) for r in records] == [
        ("r1", None, "no power"),
        ("r2", None, "cancelled"),
    ]


SECTIONS = """\
from buildbot_bench.core.report.model import AddedSection


def weather(report):
    line = f"<b>{report.headline.new.label}</b>: rain"
    return AddedSection(title="Weather\\x1b[2J", lines=(line,))


def nothing(report):
    return None


def broken(report):
    raise ValueError("no barometer")
"""
POINTS = """\
[buildbot_bench.report_sections]
weather = extra.sections:weather
nothing = extra.sections:nothing
broken = extra.sections:broken
"""


async def test_sections_of_another_package_are_added_and_harmless(
    past, farm, tmp_path, monkeypatch
):
    await past.measured(6, boots(1e6), reason="search")
    await past.measured(7, boots(0.8e6), reason="search")
    import_from(install(tmp_path / "site", {"sections": SECTIONS}, POINTS), monkeypatch)
    report = await report_of(farm, await past.answered(ANSWER))
    (added,) = report.added
    assert added.title.startswith("Weather")
    assert "\x1b" not in added.title
    assert "  <b>r7</b>: rain\n" in report_text(report)
    assert "<bdi>&lt;b&gt;r7&lt;/b&gt;: rain</bdi>" in report_html(report)
    assert "- `<b>r7</b>: rain`" in report_markdown(report)


async def test_a_step_that_was_expected_is_known_to_later_searches(past, farm):
    for position, level in {1: 1e6, 6: 1e6, 7: 0.8e6, 9: 0.8e6}.items():
        await past.measured(position, boots(level, series=position), reason="search")
    first = await past.answered(ANSWER)
    await farm.store.add_mark(search_id=first.id, kind="expected", author="ann", now=1.0)
    worse = Step(old=8, new=9, effect=-0.1, low=-0.11, high=-0.09, probability=0.999)
    both = Answer(steps=(DROP, worse), reproduced=True, unresolved=(), reason="located")
    report = await report_of(farm, await past.answered(both))
    assert (report.headline.new.label, report.mailable) == ("r10", True)
    assert [(one.new.label, one.expected_by) for one in report.other_steps] == [("r7", "ann")]
    assert report.marked == (
        "r7 was marked as expected by ann. Later commits are compared with its level.",
    )
    await farm.store.add_mark(search_id=first.id, kind="withdrawn", author="ann", now=2.0)
    report = await report_of(farm, await past.answered(both))
    assert (report.headline.new.label, report.marked) == ("r7", ())
