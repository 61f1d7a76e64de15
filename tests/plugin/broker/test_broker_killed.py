"""A master that is killed before any one of its transactions does the same in the end."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.captures import CaptureRequests
from buildbot_bench.plugin.broker.collect import Collector
from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.broker.quarantine import ControlImages
from buildbot_bench.plugin.broker.searching import Searching
from tests.fakes.control import WITH_CONTROL, answer_control
from tests.fakes.database import DirectPool
from tests.fakes.past import Past, boots

Part = Callable[[], Awaitable[None]]
Look = Callable[[], Awaitable[object]]


class KilledError(BaseException):
    """Stands for SIGKILL: nothing of what was to follow is done."""


class MortalPool(DirectPool):
    """A pool whose master dies when its lives are used up; None: it does not."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine)
        self.lives: int | None = None

    async def do(self, function):
        if self.lives == 0:
            raise KilledError
        if self.lives is not None:
            self.lives -= 1
        return await super().do(function)


@pytest.fixture
def pool(pool) -> MortalPool:
    return MortalPool(pool.engine)


@pytest.fixture
def killed_anywhere(pool, tmp_path, master):
    """Takes a part from one and the same start, killed before each of its transactions in turn.

    Gives what `look` sees after the part was taken again, for every place; the last is that of a
    master that was never killed.
    """

    async def run(part: Part, look: Look) -> list[object]:
        tables = Path(pool.engine.url.database)
        start = shutil.copyfile(tables, tmp_path / "start.sqlite")
        seen: list[object] = []
        survived = False
        while not survived:
            shutil.copyfile(start, tables)
            master.requests.clear()
            pool.lives = len(seen)
            try:
                await part()
                survived = True
            except KilledError:
                pass
            pool.lives = None
            await part()
            seen.append(await look())
        return seen

    return run


def only(seen: list[object]) -> object:
    """What all that was seen is alike."""
    assert len(seen) > 2, "nothing was killed"
    for place, one in enumerate(seen):
        assert one == seen[-1], f"killed before its transaction {place}"
    return seen[-1]


async def test_wants(killed_anywhere, farm, past):
    await past.commits(1, 2, 3)

    async def look():
        return [(p.key, p.state) for p in await farm.store.probes()]

    seen = only(await killed_anywhere(CommitQueue(farm).advance, look))
    assert len(seen) == 1


async def test_requests_are_issued_once(killed_anywhere, farm, past, master):
    await past.probe(4)
    await past.image(5, state="wanted")

    async def look():
        probes = [(p.state, p.brid is None) for p in await farm.store.probes()]
        return probes, sorted(request.name for request in master.requests)

    seen = only(await killed_anywhere(Issuer(farm, master).issue, look))
    assert len(seen[1]) == 2


async def test_missing_iterations_are_asked_for_once(killed_anywhere, farm, past, master):
    lost = {"failure": "the switch is dead", "failure_kind": "infrastructure"}
    probe = await past.probe(4, state="issued", **lost)
    await past.add(probe, 0, 1e6)

    async def look():
        return [(p.key, p.state, p.iterations) for p in await farm.store.probes()]

    seen = only(await killed_anywhere(Collector(farm, master).collect, look))
    assert sorted(row[1:] for row in seen) == [("lost", 5), ("new", 4)]


async def a_drop(past) -> None:
    """Ten revisions on one level, and one that is slower."""
    await past.commits(*range(1, 12))
    for position in range(1, 11):
        await past.measured(position, boots(1e6, series=position), judged=True)
    await past.measured(11, boots(0.9e6, series=11))


async def test_a_suspicion_asks_for_its_fresh_boots_once(killed_anywhere, farm, past):
    await a_drop(past)

    async def look():
        (row,) = await farm.store.judgements()
        probes = await farm.store.probes(state="new")
        asked = sorted((p.image_id, p.iterations) for p in probes)
        return row.state, asked, sorted(row.verdict.probes) == sorted(p.id for p in probes)

    seen = only(await killed_anywhere(Judging(farm).advance, look))
    assert seen[0] == "suspicion"


async def test_an_alarm_gets_its_search_and_no_second_one(killed_anywhere, farm, past):
    await a_drop(past)
    judging = Judging(farm)
    await judging.advance()
    while await past.lab_answers(lambda p: 1e6 if p < 11 else 0.9e6):
        pass

    async def look():
        (row,) = await farm.store.judgements()
        return row.state, [search.id == row.search_id for search in await farm.store.searches()]

    seen = only(await killed_anywhere(judging.advance, look))
    assert seen == ("regression", [True])


async def test_a_search_asks_for_one_probe(killed_anywhere, farm, past):
    await past.search()

    async def look():
        return [probe.key for probe in await farm.store.probes()]

    assert len(only(await killed_anywhere(Searching(farm).advance, look))) == 1


async def test_both_sides_of_a_culprit_are_sampled_once(
    killed_anywhere, make_farm, published, master
):
    past = Past(make_farm(("  apu: {", "  apu: {profile: 20m, ")), published[2])
    await past.commits(*range(1, 12))
    for position in (6, 7):
        await past.measured(position, boots(1e6 if position < 7 else 0.8e6), reason="search")
    step = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
    found = await past.answered(
        Answer(steps=(step,), reproduced=True, unresolved=(), reason="located")
    )
    await past.farm.store.change(found, ended_at=past.farm.now())

    async def look():
        rows = await past.farm.store.profiles_of_search(found.id)
        return [row.state for row in rows], sorted(request.name for request in master.requests)

    part = CaptureRequests(past.farm, master, Issuer(past.farm, master)).advance
    states, requests = only(await killed_anywhere(part, look))
    assert states == ["issued", "new"]  # which waits for its turn
    assert len(requests) == 1


@pytest.fixture
def controlled(make_farm, published) -> Past:
    """The history of a farm whose testbed has a control image."""
    return Past(make_farm(WITH_CONTROL), published[2])


async def rounds(past, *levels: float) -> None:
    controls = ControlImages(past.farm)
    for level in levels:
        await controls.advance()
        await answer_control(past, level)


async def test_a_control_image_is_asked_for_once(killed_anywhere, controlled):
    store = controlled.farm.store

    async def look():
        return [(probe.reason, probe.serial, probe.state) for probe in await store.probes()]

    seen = only(await killed_anywhere(ControlImages(controlled.farm).advance, look))
    assert seen == [("control", 1, "new")]


async def test_a_testbed_goes_into_quarantine_once(killed_anywhere, controlled):
    store = controlled.farm.store
    await rounds(controlled, *[1e6] * 5)
    await controlled.measured(7, (1e6,), ended_at=controlled.farm.now() + 1)
    await rounds(controlled, 0.9e6)

    async def look():
        (row,) = await store.quarantines()
        # What is done of the next cycle is this cycle's when it is not killed.
        await ControlImages(controlled.farm).advance()
        commits = [p.state for p in await store.probes() if p.reason == "commit"]
        return row.since_s, row.shift, row.ended_at, commits

    seen = only(await killed_anywhere(ControlImages(controlled.farm).advance, look))
    assert seen[-1] == ["lost"]


async def test_a_quarantine_ends_once(killed_anywhere, controlled):
    store = controlled.farm.store
    await rounds(controlled, *[1e6] * 5, 0.9e6, 1e6, 1e6)

    async def look():
        return [(row.ended_by, row.version) for row in await store.quarantines()]

    seen = only(await killed_anywhere(ControlImages(controlled.farm).advance, look))
    assert seen == [("the control image, good again", 1)]
