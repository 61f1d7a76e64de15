"""What people and programs are shown of a breakage and of the end of an incident."""

import pytest

from buildbot_bench.api.requests import MoreBoots
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.incident.model import Breakage, Ending
from buildbot_bench.plugin.db.finding_rows import Recovery
from buildbot_bench.plugin.pages.application import state
from buildbot_bench.plugin.queries.commit_views import commit_in_search
from buildbot_bench.plugin.queries.history import marks_of
from buildbot_bench.plugin.queries.searches import SearchViews, reports, strip
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.requests.search_requests import measure_more
from buildbot_bench.render.html import Tone

pytestmark = pytest.mark.both_databases

ERROR = "a.c:1: error: no"
FOUND = Breakage(ending=Ending.BROKEN, old=4, new=5, reason=ERROR, detail="proved by both sides")


async def searching(past, **columns):
    """r1 to r5 build, r6, r8 and r11 do not; r7 nobody tried."""
    await past.commits(*range(1, 20))
    for position in (1, 5):
        await past.image(position)
    past.farm.master.reactor.advance(1)
    for position in (6, 8, 11):
        await past.image(position, state="untestable", reason=ERROR)
    search = await past.search(kind="build", requester="", reason="alarm")
    blank = {"testbed": "", "workload": ""}
    changed = await past.farm.store.change(search, **blank | columns)
    assert changed is not None
    return changed


async def found(past, **columns):
    ended = {"state": "found", "breakage": FOUND, "ended_at": past.farm.now()}
    return await searching(past, **ended | columns)


def closed(past) -> Recovery:
    names = {"old_sha": past.shas[11], "old_label": "r11", "old_position": 11}
    names |= {"new_sha": past.shas[12], "new_label": "r12", "new_position": 12}
    return Recovery(**names, at_s=past.farm.now())


async def test_a_search_that_runs_says_what_it_tries_and_between_what(past, farm):
    search = await searching(past)
    shown = await SearchViews(farm).describe(search.id)
    assert (shown["kind"], shown["state"], shown["testbed"]) == ("build", "running", "")
    assert shown["suspects"] == [{"old": "r5", "new": "r6", "probability": 1.0, "effect": None}]
    assert shown["now"] == "building r5"  # which is to work once more
    assert (shown["report"], shown["text"], shown["breakage"]) == (None, None, None)


async def test_one_that_found_it_has_a_report_as_text_and_as_json(past, farm):
    search = await found(past)
    shown = await SearchViews(farm).describe(search.id)
    assert shown["text"].startswith("A build fails since r6. r5 works. r6 broke it.")
    assert shown["report"]["kind"] == "breakage"
    assert [one["label"] for one in shown["report"]["suspects"]] == ["r6"]
    assert shown["breakage"]["reason"] == ERROR
    assert (shown["breakage"]["works"], shown["breakage"]["broken"]) == ("r5", "r6")
    assert shown["recovery"] is None


async def test_what_was_tried_is_told_revision_by_revision(past, farm):
    search = await found(past)
    tried = (await SearchViews(farm).describe(search.id))["report"]["tried"]
    assert [(one["label"], one["outcome"], one["reason"]) for one in tried] == [
        ("r1", "builds", ""),
        ("r5", "builds", ""),
        ("r6", "does not build", ERROR),
        ("r8", "does not build", ERROR),
        ("r11", "does not build", ERROR),
    ]


async def test_an_incident_that_is_over_says_so_with_its_commits(past, farm):
    search = await found(past, recovery=closed(past))
    shown = await SearchViews(farm).summarise(search)
    assert shown["recovery"] == {
        "old": {"label": "r11", "position": 11},
        "new": {"label": "r12", "position": 12},
        "at": search.ended_at,
        "difference": None,
    }


async def test_its_strip_shows_what_works_and_what_does_not(past, farm):
    search = await found(past)
    shown = await strip(farm, search.id)
    assert (shown["works"], shown["untestable"]) == ([0, 4], [5, 7, 10])
    assert (shown["measured"], shown["left"]) == ([], None)
    assert shown["culprits"] == [{"at": 5, "label": "r6", "effect": None}]
    assert (await commit_in_search(farm, search.id, 5))["failure"] == ERROR


async def test_it_is_listed_with_the_other_searches_and_marks_no_history(past, farm):
    search = await found(past, testbed="apu", workload="forwarding", kind="boot")
    (listed,) = await reports(farm, 10)
    assert (listed["searchid"], listed["kind"], listed["culprits"]) == (search.id, "boot", [])
    assert await marks_of(farm, ("apu", "forwarding"), "main") == []


async def test_the_badge_says_what_the_branch_does_not_do(past, farm):
    search = await found(past)
    assert await state(farm) == ("does not build", Tone.ALARM)
    await farm.store.change(search, recovery=closed(past))
    assert await state(farm) == ("well again", Tone.CALM)


async def test_what_does_not_build_is_not_booted_for_anybody(past, farm):
    search = await found(past)
    with pytest.raises(UsageError, match="looks for what does not build"):
        await measure_more(farm, search.id, MoreBoots(revision="r6", iterations=1))


async def test_a_breakage_is_marked_as_reports_are_but_not_tried_again_by_mark(past, farm):
    search = await found(past)
    marks = MarkRequests(farm)
    await marks.mark_search(search.id, "expected", author="ann", fixed_by="")
    await marks.mark_search(search.id, "fixed", author="ann", fixed_by="r12")
    with pytest.raises(UsageError, match="the farm tries that by itself"):
        await marks.mark_search(search.id, "again", author="ann", fixed_by="")
