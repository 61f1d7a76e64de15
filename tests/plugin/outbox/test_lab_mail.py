"""The mails about the lab: one for each quarantine, to its owner; one a week that all is alive."""

from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.search import Answer
from buildbot_bench.plugin.outbox.farm_mails import WEEK_S, write_alive, write_quarantines
from buildbot_bench.plugin.outbox.search_mails import NEWS_S
from tests.fakes.control import CONTROLLED, WITH_CONTROL, control_rounds
from tests.fakes.past import Past, boots

LEVEL = 1e6


@pytest.fixture
def farm(make_farm):
    return make_farm(WITH_CONTROL)


async def mails(farm):
    """What is to be sent, with its message parsed."""
    rows = await farm.store.due_reports(farm.now())
    return [(row, message_from_bytes(row.message, policy=policy.default)) for row in rows]


async def test_the_owner_is_told_once_what_happened_and_what_is_in_doubt(past, farm):
    await control_rounds(past, *[LEVEL] * 5)
    await past.commits(7)
    await past.measured(7, boots(0.95 * LEVEL))
    search = await past.search(
        state="found",
        ended_at=farm.now(),
        answer=Answer(steps=(), reproduced=False, unresolved=(), reason=""),
    )
    await control_rounds(past, 0.95 * LEVEL)
    await write_quarantines(farm, farm.workflow.mail)
    await write_quarantines(farm, farm.workflow.mail)
    ((row, mail),) = await mails(farm)
    assert (row.key, list(row.recipients)) == ("quarantine:1", ["lab@example.org"])
    assert mail["Subject"].startswith("[bench] apu is out of control: r4 -")
    assert mail["Reply-To"] == "ops@example.org"
    text = mail.get_body(("plain",)).get_content()
    assert "5 iterations of 1 image ended there since the last good round" in " ".join(text.split())
    assert f"search {search.id}" in text
    (signal,) = (line for line in text.splitlines() if "-5." in line and "  -1." in line)
    assert text.splitlines()[text.splitlines().index(signal) + 1].endswith("^ out of control")
    assert "http://farm.example.org/#/bench/lab" in text
    assert [part.get_filename() for part in mail.iter_attachments()] == ["control.png"]


async def test_without_an_owner_whoever_answers_for_the_farm_is_told(make_farm, published):
    farm = make_farm((WITH_CONTROL[0], CONTROLLED.replace(", owner: lab@example.org", "")))
    await control_rounds(Past(farm, published[2]), LEVEL, LEVEL, None)
    await write_quarantines(farm, farm.workflow.mail)
    ((row, mail),) = await mails(farm)
    assert list(row.recipients) == ["ops@example.org"]
    assert mail["Subject"] == "[bench] apu is out of control: r4 no value (forwarding)"


async def test_a_control_image_that_never_gave_a_value_is_told_of(past, farm):
    await control_rounds(past, None, None)
    await write_quarantines(farm, farm.workflow.mail)
    ((_, mail),) = await mails(farm)
    text = " ".join(mail.get_body(("plain",)).get_content().split())
    assert text.startswith("The control image r4 has never given a value on apu (forwarding).")
    assert "The first round without a value ended" in text
    assert "The level of" not in text


async def test_nobody_is_told_of_a_quarantine_of_long_ago(past, farm, master):
    await control_rounds(past, LEVEL, LEVEL, None)
    master.reactor.advance(NEWS_S + 1)
    await write_quarantines(farm, farm.workflow.mail)
    assert await mails(farm) == []


async def test_a_farm_that_never_measured_is_not_said_to_be_alive(farm):
    await write_alive(farm, farm.workflow.mail)
    assert await mails(farm) == []


async def test_once_a_week_the_operator_hears_that_the_farm_is_alive(past, farm, master):
    await control_rounds(past, *[LEVEL] * 6)
    await write_alive(farm, farm.workflow.mail)
    assert await mails(farm) == []
    await control_rounds(past, LEVEL)
    probe = await past.measured(7, boots(LEVEL))
    await past.add(probe, 5, None)
    await write_alive(farm, farm.workflow.mail)
    await write_alive(farm, farm.workflow.mail)
    ((row, mail),) = await mails(farm)
    assert (row.key, list(row.recipients)) == ("alive:1", ["ops@example.org"])
    assert mail["Subject"] == "[bench] alive: 27 iterations, 0 mails"
    text = " ".join(mail.get_body(("plain",)).get_content().split())
    assert "apu: 27 iterations (1 failed); control r4 within ±0." in text
    assert "in 7 good rounds" in text
    assert "xeon: 0 iterations; no control image" in text
    master.reactor.advance(WEEK_S - 1)
    await write_alive(farm, farm.workflow.mail)
    assert len(await mails(farm)) == 1
    master.reactor.advance(1)
    await write_alive(farm, farm.workflow.mail)
    assert [row.key for row, _ in await mails(farm)] == ["alive:1", "alive:2"]


async def test_a_week_says_who_is_held(past, farm, master):
    await control_rounds(past, *[LEVEL] * 5, 0.9 * LEVEL)
    master.reactor.advance(WEEK_S)
    await write_alive(farm, farm.workflow.mail)
    ((_, mail),) = await mails(farm)
    assert mail["Subject"].endswith("; in quarantine: apu")
