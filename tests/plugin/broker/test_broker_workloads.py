"""A workload that breaks is found out by kernels that it measured, and blames no commit."""

import pytest

from buildbot_bench.plugin.broker.quarantine import Workloads
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.db.columns import OPEN_PROBES
from buildbot_bench.plugin.queries.breakages import troubles_of_workloads
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.queries.turns import lab_turns
from buildbot_bench.plugin.steps.measure import is_believed
from tests.fakes.past import boots

SERIES = ("apu", "forwarding")
SLOW_FROM = 7
NO_TRAFFIC = "the receiver counted 0 packets"


def level(position: int) -> float:
    return 1e6 if position < SLOW_FROM else 0.8e6


class LabOfOne:
    """Builds what is asked for, and boots what the queues let through, as steps/measure.py does."""

    def __init__(self, farm, past) -> None:
        self.farm, self.past = farm, past
        self.fails = lambda _position: False
        self.booted: list[str] = []

    async def boot(self) -> bool:
        """Boot what comes first; False when nothing may be booted."""
        store = self.farm.store
        for image in await store.images(state="wanted"):
            await self.past.image(image.position, ordinal=image.ordinal)
        queues = (await lab_turns(self.farm)).queues.values()
        for turn in (turn for queue in queues for turn in queue.order()):
            await self._measure(await store.probe(turn.wish.row.id))
            return True
        return False

    async def _measure(self, probe) -> None:
        store = self.farm.store
        image = await store.image(probe.image_id)
        self.booted.append(image.label)
        if self.fails(image.position):
            await self.past.add(probe, 0, None, log="ping: sendto: no route\nno packets\n")
            if await is_believed(self.farm, probe):
                await store.change(
                    image, changed_at=self.farm.now(), state="untestable", reason=NO_TRAFFIC
                )
            said = {"failure": NO_TRAFFIC, "failure_kind": "untestable"}
        else:
            for ordinal, value in enumerate(
                boots(level(image.position), probe.iterations, series=probe.id)
            ):
                await self.past.add(probe, ordinal, value)
            said = {}
        ended = {"state": "done", "brid": 1, "ended_at": self.farm.now()}
        await store.change(await store.probe(probe.id), **ended | said)


@pytest.fixture
def lab(farm, past) -> LabOfOne:
    return LabOfOne(farm, past)


@pytest.fixture
def turn(farm, lab):
    """What the broker does in a cycle, and one boot."""

    async def run(times: int = 1) -> None:
        for _ in range(times):
            await Workloads(farm).advance()
            await Searching(farm).advance()
            await lab.boot()

    return run


async def test_a_workload_that_breaks_in_mid_search_is_suspected_at_once(turn, lab, farm, past):
    search = await past.search()
    await turn(4)
    before = len(lab.booted)
    lab.fails = lambda _: True
    await turn(8)
    after = lab.booted[before:]
    assert len(after) <= 4  # at most two that nobody measured before, then two that were
    (trouble,) = (await troubles_of_workloads(farm)).values()
    for word in ("workload forwarding is broken on testbed apu", NO_TRAFFIC, "no packets"):
        assert word in trouble.text
    assert (await farm.store.search(search.id)).state == "running"
    assert trouble.text in (await SearchViews(farm).describe(search.id))["now"]


async def test_the_search_goes_on_when_the_workload_works_again_and_finds_the_step(
    turn, lab, farm, past, master
):
    search = await past.search()
    await turn(4)
    lab.fails = lambda _: True
    await turn(8)
    broken_at = len(lab.booted)
    assert await farm.store.images(state="untestable") == []
    master.reactor.advance(61)
    await turn(3)
    assert len(lab.booted) == broken_at + 1  # it was tried once more
    lab.fails = lambda _: False
    master.reactor.advance(3601)
    await turn(80)
    ended = await farm.store.search(search.id)
    assert ended.state == "found"
    (step,) = ended.answer.steps
    assert step.new == SLOW_FROM - 1
    assert not await troubles_of_workloads(farm)


async def test_a_workload_that_works_with_neither_end_is_said_after_two_boots(
    turn, lab, farm, past
):
    search = await past.search()
    lab.fails = lambda _: True
    await turn(6)
    assert lab.booted == ["r1", "r11"]
    assert SERIES in await troubles_of_workloads(farm)
    assert (await farm.store.search(search.id)).state == "running"


async def test_revisions_that_really_do_not_boot_are_stepped_around(turn, lab, farm, past):
    search = await past.search()
    lab.fails = lambda position: position in {4, 5, 6}
    await turn(120)
    ended = await farm.store.search(search.id)
    assert ended.state == "found"
    (step,) = ended.answer.steps
    assert (step.old, step.new) == (2, 6)
    assert not await troubles_of_workloads(farm)


async def test_commits_that_failed_with_the_workload_are_measured_again(turn, lab, farm, past):
    for position in (1, 2):
        await past.measured(position, boots(1e6), brid=1, ended_at=farm.now())
    for position in (3, 4):
        await past.probe(position)
    lab.fails = lambda _: True
    await turn(8)
    assert lab.booted == ["r3", "r4", "r2", "r1"]
    failed = [probe for probe in await farm.store.probes() if probe.state == "lost"]
    assert [(probe.reason, probe.failure_kind) for probe in failed] == [
        ("commit", "infrastructure"),
        ("commit", "infrastructure"),
    ]
    assert await farm.store.images(state="untestable") == []


async def test_a_quarantine_is_not_broken_for_it(turn, lab, farm, past):
    for position in (1, 2):
        await past.measured(position, boots(1e6), brid=1, ended_at=farm.now())
    for position in (3, 4):
        await past.probe(position)
    lab.fails = lambda _: True
    await turn(2)
    await past.quarantine(1, since_s=farm.now(), reason="r4 is off")
    await Workloads(farm).advance()
    asked = [p for p in await farm.store.probes() if p.state in OPEN_PROBES]
    assert [probe.reason for probe in asked] == []
