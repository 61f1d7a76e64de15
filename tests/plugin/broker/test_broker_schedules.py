"""The tip of a branch is measured when `on.schedule` says so, once on each series."""

from datetime import UTC, datetime

import pytest

from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.broker.issue import NoOps
from buildbot_bench.plugin.broker.scheduler import Schedules
from tests.fakes.past import Past

NIGHTLY = ("  workflow_dispatch:\n", "  schedule: [{cron: '0 3 * * *'}]\n")
WITHOUT_PUSH = ("  push:\n    branches: [main]\n    paths: [sys/**]\n", "")


def to(farm, when: str) -> None:
    """Let the time come: an hour and a minute of the farm's first day, or `+1` of the next."""
    clock, day = when.rsplit(maxsplit=1)[-1], int(when.split(maxsplit=1)[0]) if " " in when else 0
    now = datetime.fromtimestamp(farm.now(), UTC)
    hour, minute = map(int, clock.split(":"))
    then = now.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()
    farm.master.reactor.advance(then + day * 86400 - farm.now())


@pytest.fixture
def nightly(make_farm):
    """A farm that measures its tip at three, and begins at noon."""
    farm = make_farm(NIGHTLY)
    to(farm, "1 12:00")
    return farm


async def arrive(farm, shas, *positions: int) -> None:
    await Past(farm, shas).commits(*positions, arrived_at=farm.now())


async def asked(farm) -> list[tuple[str, str]]:
    probes = sorted(await farm.store.probes(), key=lambda probe: probe.id)
    return [
        ((await farm.store.image(p.image_id)).label, f"{p.testbed} {p.state}")
        for p in probes
        if p.reason == "schedule"
    ]


@pytest.mark.both_databases
async def test_the_tip_is_asked_for_once_when_the_time_has_come(nightly, published):
    await arrive(nightly, published[2], 1, 2)
    await Schedules(nightly).advance()
    assert await asked(nightly) == [], "the farm did not exist at three"
    to(nightly, "1 02:59")
    await Schedules(nightly).advance()
    assert await asked(nightly) == []
    to(nightly, "03:00")
    await Schedules(nightly).advance()
    to(nightly, "09:00")
    await Schedules(nightly).advance()
    assert await asked(nightly) == [("r2", "apu new")]


async def test_each_night_the_boots_are_fresh_ones(nightly, published):
    past = Past(nightly, published[2])
    await arrive(nightly, published[2], 1, 2)
    await past.measured(2, (1e6,) * 5)
    for _ in range(2):
        to(nightly, "1 03:10")
        await Schedules(nightly).advance()
        (probe,) = [p for p in await nightly.store.open_probes() if p.reason == "schedule"]
        assert probe.iterations == 5
        image = await nightly.store.image(probe.image_id)
        assert not await NoOps(nightly).spares(probe, image), "it is booted, whatever is known"
        await nightly.store.change(probe, state="done")
    assert await asked(nightly) == [("r2", "apu done")] * 2


async def test_a_time_that_no_master_saw_is_made_up_for_once(nightly, published):
    await arrive(nightly, published[2], 1)
    to(nightly, "4 14:00")
    await Schedules(nightly).advance()
    await Schedules(nightly).advance()
    assert await asked(nightly) == [("r1", "apu new")]


async def test_nothing_piles_up_on_a_lab_that_is_slow(make_farm, published):
    farm = make_farm(("  workflow_dispatch:\n", "  schedule: [{cron: '* * * * *'}]\n"))
    await arrive(farm, published[2], 1)
    for minute in range(3):
        to(farm, f"1 12:0{minute}" if not minute else f"12:0{minute}")
        await Schedules(farm).advance()
    assert await asked(farm) == [("r1", "apu new")]


async def test_each_series_of_each_job_is_asked(make_farm, published):
    farm = make_farm(NIGHTLY, ("runs-on: apu", "runs-on: [apu, xeon]"))
    await arrive(farm, published[2], 1)
    to(farm, "1 03:00")
    await Schedules(farm).advance()
    assert await asked(farm) == [("r1", "apu new"), ("r1", "xeon new")]


async def test_without_push_commits_wait_for_the_time(make_farm, published):
    farm = make_farm(NIGHTLY, WITHOUT_PUSH)
    to(farm, "1 12:00")
    await CommitWatch(farm).advance()
    await CommitQueue(farm).advance()
    assert await farm.store.probes() == []
    to(farm, "1 03:00")
    await Schedules(farm).advance()
    await CommitQueue(farm).advance()
    assert await asked(farm) == [("r20", "apu new")]


async def test_a_branch_that_was_not_seen_yet_is_waited_for(make_farm, published):
    farm = make_farm(NIGHTLY)
    to(farm, "1 03:00")
    await Schedules(farm).advance()
    assert await asked(farm) == []


async def test_what_a_schedule_measured_need_not_be_measured_for_the_push(nightly, published):
    await arrive(nightly, published[2], 1)
    to(nightly, "1 03:00")
    await Schedules(nightly).advance()
    (probe,) = await nightly.store.probes()
    await nightly.store.change(probe, state="done")
    await CommitQueue(nightly).advance()
    assert len(await nightly.store.probes()) == 1
