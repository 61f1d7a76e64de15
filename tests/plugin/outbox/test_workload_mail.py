"""One mail for each outage of a workload, to the owner of its testbed, as soon as it is known."""

from email import message_from_bytes, policy

import pytest

from buildbot_bench.plugin.outbox.farm_mails import write_broken_workloads
from tests.fakes.control import WITH_CONTROL
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases
NO_TRAFFIC = "the receiver counted 0 packets"


@pytest.fixture
def farm(make_farm):
    return make_farm(WITH_CONTROL)


@pytest.fixture
def measured(past, farm):
    """Has revisions measured, one after the other."""

    async def run(*positions: int) -> None:
        for position in positions:
            await past.measured(position, boots(1e6, series=position), brid=1, ended_at=farm.now())

    return run


@pytest.fixture
def failed(past, farm):
    """Has revisions give no value, one after the other."""

    async def run(*positions: int, why: str = NO_TRAFFIC) -> None:
        for position in positions:
            farm.master.reactor.advance(60)
            said = {"failure": why, "failure_kind": "untestable", "brid": 1, "ended_at": farm.now()}
            probe = await past.probe(position, state="done", **said)
            await past.add(probe, 0, None, log="ping: sendto: no route\n")

    return run


async def mails(farm):
    await write_broken_workloads(farm, farm.workflow.mail)
    rows = await farm.store.due_reports(farm.now())
    return [(row, message_from_bytes(row.message, policy=policy.default)) for row in rows]


async def test_the_owner_is_told_once_what_fails_and_what_waits(past, farm, measured, failed):
    await past.commits(*range(1, 12))
    await measured(3, 4, 5)
    search = await past.search()
    await failed(4)
    assert await mails(farm) == []
    await failed(3)
    await mails(farm)
    ((row, mail),) = await mails(farm)
    assert list(row.recipients) == ["lab@example.org"]
    assert mail["Subject"] == "[bench] forwarding is broken on apu: r4 and r3 fail alike"
    for part in ("plain", "html"):
        text = " ".join(mail.get_body((part,)).get_content().split())
        assert NO_TRAFFIC in text
        assert "ping: sendto: no route" in text
        assert f"Search {search.id} waits." in text
        assert "http://farm.example.org/#/bench/lab" in text


async def test_an_outage_that_goes_on_is_told_once_whatever_it_says(past, farm, measured, failed):
    await past.commits(*range(1, 12))
    await measured(3, 4, 5)
    await failed(4, 3)
    assert len(await mails(farm)) == 1
    await failed(4, 5, why="the sender does not start")
    assert len(await mails(farm)) == 1


async def test_another_outage_is_another_mail(past, farm, measured, failed):
    await past.commits(*range(1, 12))
    await measured(3, 4, 5)
    await failed(4, 3)
    farm.master.reactor.advance(60)
    await measured(5)
    assert len(await mails(farm)) == 0
    await failed(4, 3)
    assert len(await mails(farm)) == 1
    farm.master.reactor.advance(60)
    await measured(5)
    await failed(4, 3)
    assert len(await mails(farm)) == 2


async def test_kernels_that_fail_each_for_itself_are_no_outage(past, farm, measured, failed):
    await past.commits(*range(1, 12))
    await measured(3, 4, 5)
    await failed(6, 7)
    assert await mails(farm) == []


async def test_a_quarantine_is_told_by_its_own_mail(past, farm, measured, failed):
    await past.commits(*range(1, 12))
    await measured(3, 4, 5)
    await failed(4, 3)
    probe = await past.probe(3, reason="control", state="done", name="control:1")
    named = {"probe_id": probe.id, "testbed": probe.testbed, "workload": probe.workload}
    said = {"epoch": "", "since_s": 0.0, "shift": None, "reason": "no value"}
    await farm.store.begin_quarantine(**named, **said, now=farm.now())
    assert await mails(farm) == []
