"""One mail for each testbed that is asked to measure and does not for a day."""

from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.condition import SILENCE_S
from buildbot_bench.plugin.outbox.farm_mails import GRACE_S, SilenceWatch
from tests.fakes.control import WITH_CONTROL, control_rounds
from tests.fakes.past import boots


@pytest.fixture
def farm(make_farm):
    return make_farm(WITH_CONTROL)


async def started(farm) -> SilenceWatch:
    """The watch of a farm that was started an hour ago."""
    watch = SilenceWatch()
    await watch.write(farm, farm.workflow.mail)
    farm.master.reactor.advance(GRACE_S)
    return watch


async def mails(farm):
    rows = await farm.store.due_reports(farm.now())
    return [(row, message_from_bytes(row.message, policy=policy.default)) for row in rows]


async def test_a_silence_is_mailed_once_to_the_owner(past, farm, master):
    watch = await started(farm)
    await past.commits(7)
    await past.measured(7, boots(1e6))
    await past.probe(await past.image(7), reason="backfill")
    master.reactor.advance(SILENCE_S + 1)
    for _ in range(2):
        await watch.write(farm, farm.workflow.mail)
    ((row, mail),) = await mails(farm)
    assert list(row.recipients) == ["lab@example.org"]
    assert mail["Subject"] == "[bench] apu has measured nothing for 24 hours; 1 request waits"
    text = mail.get_body(("plain",)).get_content()
    assert "Its worker lab is not connected." in text
    assert "http://farm.example.org/#/bench/lab" in text


async def test_a_second_silence_is_another_mail(past, farm, master):
    watch = await started(farm)
    await past.commits(7, 8)
    for position in (7, 8):
        await past.measured(position, boots(1e6))
        await past.probe(await past.image(position), reason="backfill")
        master.reactor.advance(SILENCE_S + 1)
        await watch.write(farm, farm.workflow.mail)
    assert len(await mails(farm)) == 2


async def test_a_farm_with_nothing_to_do_is_not_silent(past, farm, master):
    watch = await started(farm)
    await past.commits(7)
    await past.measured(7, boots(1e6))
    master.reactor.advance(SILENCE_S + 1)
    await past.probe(await past.image(7), reason="backfill")
    await watch.write(farm, farm.workflow.mail)
    assert await mails(farm) == []


async def test_a_farm_that_was_off_has_an_hour(past, farm, master):
    await past.commits(7)
    await past.probe(await past.image(7))
    master.reactor.advance(SILENCE_S + 1)
    watch = SilenceWatch()
    await watch.write(farm, farm.workflow.mail)
    assert await mails(farm) == []
    master.reactor.advance(GRACE_S)
    await watch.write(farm, farm.workflow.mail)
    ((_, mail),) = await mails(farm)
    assert mail["Subject"] == "[bench] apu never measured anything; 1 request waits"


async def test_what_a_quarantine_holds_up_is_told_by_the_quarantines_mail(past, farm, master):
    await control_rounds(past, 1e6, 1e6, None)
    assert await farm.store.untold_quarantines()
    await past.commits(7)
    await past.probe(await past.image(7))
    watch = SilenceWatch()
    await watch.write(farm, farm.workflow.mail)
    master.reactor.advance(SILENCE_S + GRACE_S)
    for probe in await farm.store.probes(state="new"):
        if probe.reason == "control":
            await farm.store.change(probe, state="done", ended_at=farm.now())
    await watch.write(farm, farm.workflow.mail)
    assert await mails(farm) == []
