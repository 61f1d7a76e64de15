"""What people say of an alarm changes what is judged and searched, until they take it back."""

from __future__ import annotations

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.alarms import Recoveries
from buildbot_bench.plugin.broker.follow_ups import Remeasuring
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.queries.judgements import settled_changes
from buildbot_bench.plugin.requests.marks import MarkRequests
from tests.fakes.past import TESTBED, WORKLOAD, boots

pytestmark = pytest.mark.both_databases

NEW = 8
USUAL = 1e6


def slower(position: int) -> float:
    return USUAL if position < NEW else 0.9 * USUAL


def slower_for_a_while(position: int) -> float:
    return slower(position) if position < NEW + 4 else USUAL


class Lab:
    """Has a farm measure and judge commit by commit, and people say what they think."""

    def __init__(self, past, level) -> None:
        self.past, self.farm, self.level = past, past.farm, level

    async def begun(self) -> Lab:
        await self.past.commits(*range(1, 19))
        for position in range(1, NEW):
            await self._measured(position, judged=True)
        return self

    async def comes(self, *positions: int) -> None:
        for position in positions:
            await self._measured(position)
            await self.judged()

    async def _measured(self, position: int, **columns) -> None:
        await self.past.measured(position, boots(self.level(position), series=position), **columns)

    async def judged(self) -> None:
        for _ in range(14):
            await Remeasuring(self.farm).advance()
            await Judging(self.farm).advance()
            if not await self.past.lab_answers(self.level):
                return
        raise AssertionError("the judge asks for ever")

    async def verdict(self, position: int = NEW):
        (row,) = [r for r in await self.farm.store.judgements() if r.new_position == position]
        return row

    async def states(self, *positions: int) -> list[str]:
        return [str((await self.verdict(position)).state) for position in positions]

    async def said(self, kind: str, position: int = NEW) -> None:
        row = await self.verdict(position)
        await MarkRequests(self.farm).mark_verdict(row.id, kind, author="ann", fixed_by="")
        await self.judged()


@pytest.fixture
def lab(past):
    return lambda level=slower: Lab(past, level).begun()


async def test_an_alarm_that_was_noise_is_none_and_its_search_ends(lab, farm):
    there = await lab()
    await there.comes(NEW)
    assert await there.states(NEW) == ["regression"]
    await there.said("noise")
    row = await there.verdict()
    assert (str(row.state), row.effect) == ("nothing", pytest.approx(-0.1, abs=0.02))
    assert row.verdict.reason.endswith("marked as noise by ann: both levels count as one")
    (search,) = await farm.store.searches()
    assert (search.state, search.detail) == ("cancelling", "ann says noise")
    assert await farm.store.pending_marks() == []


async def test_behind_it_neither_level_is_a_change_and_a_third_one_is(lab, farm):
    there = await lab(slower_for_a_while)
    await there.comes(NEW)
    await there.said("noise")
    await there.comes(*range(NEW + 1, NEW + 7))
    assert await there.states(*range(NEW + 1, NEW + 7)) == ["nothing"] * 6
    there.level = lambda p: 0.8 * USUAL if p >= NEW + 7 else slower_for_a_while(p)
    await there.comes(NEW + 7)
    assert await there.states(NEW + 7) == ["regression"]
    assert len(await farm.store.searches()) == 2


async def test_an_expected_change_is_the_new_level_and_what_returns_is_another(lab, farm):
    there = await lab(slower_for_a_while)
    await there.comes(NEW)
    await there.said("expected")
    assert await there.states(NEW) == ["regression"]  # which it was
    await there.comes(*range(NEW + 1, NEW + 5))
    assert await there.states(*range(NEW + 1, NEW + 5)) == ["nothing"] * 3 + ["improvement"]
    assert (await there.verdict(NEW + 4)).verdict.began == NEW + 4
    (search,) = await farm.store.searches()
    assert search.state == "cancelling"


async def test_what_is_taken_back_is_judged_as_if_it_had_not_been_said(lab, farm):
    there = await lab()
    await there.comes(NEW)
    await there.said("noise")
    await there.said("withdrawn")
    assert await there.states(NEW) == ["regression"]
    assert [one.said for one in await settled(farm)] == [None]
    assert {str(one.state) for one in await farm.store.searches()} == {"cancelling", "running"}


async def test_a_suspicion_that_is_marked_asks_for_no_more_boots(lab, past, farm):
    there = await lab()
    await there.past.measured(NEW, boots(slower(NEW), series=NEW))
    await Judging(farm).advance()
    assert await there.states(NEW) == ["suspicion"]
    assert await farm.store.probes(state="new")
    row = await there.verdict()
    await MarkRequests(farm).mark_verdict(row.id, "expected", author="ann", fixed_by="")
    await Remeasuring(farm).advance()
    await Judging(farm).advance()
    assert await farm.store.probes(state="new") == []
    assert await there.states(NEW) == ["nothing"]


async def settled(farm):
    return await settled_changes(farm, (TESTBED, WORKLOAD), 0, 0.02, branch="main")


DROP = Step(old=6, new=7, effect=-0.1, low=-0.11, high=-0.09, probability=0.999)
FOUND = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


async def found(past, **columns):
    """A search from r1 found that r8 is slower."""
    return await past.answered(FOUND, reason="alarm", **columns)


async def test_what_is_said_of_a_search_is_said_of_its_steps(past, farm):
    search = await found(past)
    await MarkRequests(farm).mark_search(search.id, "expected", author="ann", fixed_by="")
    (one,) = await settled(farm)
    assert (one.began, one.judged, str(one.said), one.author) == (8, 8, "expected", "ann")
    assert await settled_changes(farm, ("xeon", WORKLOAD), 0, 0.02, branch="main") == []


async def test_an_incident_is_marked_on_each_series_that_confirmed_it(past, farm):
    search = await found(past)
    await past.joined(search.id, "pf", standing="confirmed")
    await past.joined(search.id, "ipfw", standing="denied")
    await MarkRequests(farm).mark_search(search.id, "noise", author="ann", fixed_by="")
    marked = {
        workload: [
            one.began
            for one in await settled_changes(farm, (TESTBED, workload), 0, 0.02, branch="main")
        ]
        for workload in ("pf", "ipfw")
    }
    assert marked == {"pf": [8], "ipfw": []}


async def test_a_search_that_found_nothing_sure_speaks_of_its_alarms(past, farm):
    nothing = Answer(steps=(), reproduced=False, unresolved=(), reason="the same")
    search = await past.answered(nothing, "not-reproduced", reason="alarm")
    await past.judgement(7, 8, search_id=search.id, branch="main")
    await MarkRequests(farm).mark_search(search.id, "noise", author="ann", fixed_by="")
    assert [(one.began, str(one.said)) for one in await settled(farm)] == [(8, "noise")]


@pytest.mark.parametrize("kind", ["fixed", "again", "withdrawn"])
async def test_other_words_change_no_verdict(past, farm, kind):
    search = await found(past)
    fix = "r9" if kind == "fixed" else ""
    await MarkRequests(farm).mark_search(search.id, kind, author="ann", fixed_by=fix)
    assert await settled(farm) == []


async def test_the_last_word_counts(past, farm):
    search = await found(past)
    for kind in ("expected", "noise", "withdrawn"):
        await MarkRequests(farm).mark_search(search.id, kind, author="ann", fixed_by="")
    assert await settled(farm) == []


async def test_a_new_alarm_is_not_explained_by_what_was_noise(lab, past, farm):
    there = await lab()
    search = await found(past)
    await MarkRequests(farm).mark_search(search.id, "noise", author="ann", fixed_by="")
    there.level = lambda p: 0.8 * USUAL if p >= NEW + 1 else slower(p)
    await there.comes(NEW, NEW + 1)
    assert await there.states(NEW, NEW + 1) == ["nothing", "regression"]
    newest, _ = await farm.store.searches()
    assert (newest.id, (await there.verdict(NEW + 1)).search_id) == (search.id + 1, newest.id)


@pytest.mark.parametrize("kind", ["expected", "noise"])
async def test_the_incident_of_a_marked_search_is_over(past, farm, kind):
    await past.commits(*range(1, 12))
    search = await found(past)
    for position in (7, 8, 10):
        level = 0.9e6 if position == 8 else 1e6
        await past.measured(position, boots(level, series=position), judged=True)
    await past.judgement(8, 10, state="improvement", branch="main")
    await MarkRequests(farm).mark_search(search.id, kind, author="ann", fixed_by="")
    await Recoveries(farm).advance()
    assert (await farm.store.search(search.id)).recovery is None
    await MarkRequests(farm).mark_search(search.id, "withdrawn", author="ann", fixed_by="")
    await Recoveries(farm).advance()
    assert (await farm.store.search(search.id)).recovery is not None
