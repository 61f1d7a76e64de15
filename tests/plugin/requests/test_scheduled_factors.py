"""Factors of `on.schedule`: compared once for each time, at one commit, and then mailed."""

import hashlib
import re
from email import message_from_bytes, policy

import pytest

from buildbot_bench.plugin.broker.ab_tests import AbTests
from buildbot_bench.plugin.broker.scheduler import Schedules
from buildbot_bench.plugin.outbox.search_mails import write_comparisons
from buildbot_bench.plugin.service import ScheduledComparisons
from tests.fakes.past import Past

FACTORS = "{vimage: VIMAGE, tx: 'net.x:0,1'}"
WEEKLY = (
    "  workflow_dispatch:\n",
    f"  schedule: [{{cron: '0 3 * * *', factors: {FACTORS}}}]\n",
)
DAY_S = 86400.0
# The medians of netbenches' n311215 with D58513 and simple_tx, in packets a second.
LEVELS = {
    ("r2", "net.x=0"): 883_374.0,
    ("r2", "net.x=1"): 379_926.0,
    ("r2+VIMAGE", "net.x=0"): 480_840.0,
    ("r2+VIMAGE", "net.x=1"): 1_001_291.0,
}

pytestmark = pytest.mark.both_databases


@pytest.fixture
def farm(make_farm):
    return make_farm(WEEKLY)


async def arrive(farm, published) -> Past:
    past = Past(farm, published[2])
    await past.commits(1, 2, arrived_at=farm.now())
    return past


async def measure_all(farm, past, levels=LEVELS) -> None:
    """Builders and lab do what the comparison asks for, until it has ended."""
    while True:
        await AbTests(farm).advance()
        for image in await farm.store.images(state="wanted"):
            digest = hashlib.sha256(image.variant.encode()).hexdigest()
            await farm.store.change(image, changed_at=1.0, state="built", digest=digest, size=9)
        await AbTests(farm).advance()
        new = await farm.store.probes(state="new")
        if not new:
            return
        for probe in new:
            image = await farm.store.image(probe.image_id)
            for ordinal in range(probe.iterations):
                wobble = 1 + 0.002 * ((probe.id + ordinal) % 5 - 2)
                await past.add(probe, ordinal, levels[image.label, probe.tunables] * wobble)
            await farm.store.change(probe, state="done", ended_at=farm.now())


async def mails(farm):
    await write_comparisons(farm, farm.workflow.mail)
    rows = await farm.store.due_reports(farm.now())
    return [message_from_bytes(row.message, policy=policy.default) for row in rows]


async def test_all_combinations_of_the_tip_are_compared_once_for_each_time(farm, published):
    await arrive(farm, published)
    look = ScheduledComparisons(farm)
    await look.advance()
    assert await farm.store.ab_tests() == [], "the farm did not know the branch at that time"
    farm.master.reactor.advance(DAY_S)
    # A second master looks, too.
    for one in (look, look, ScheduledComparisons(farm)):
        await one.advance()
    (started,) = await farm.store.ab_tests()
    assert [(one.variant, one.label) for one in started.variants] == [
        ("r2+sysctl:net.x=0", "vimage=without, tx=0"),
        ("r2+sysctl:net.x=1", "vimage=without, tx=1"),
        ("r2+VIMAGE+sysctl:net.x=0", "vimage=with, tx=0"),
        ("r2+VIMAGE+sysctl:net.x=1", "vimage=with, tx=1"),
    ]
    await Schedules(farm).advance()
    assert await farm.store.probes() == [], "it takes the place of the fresh boots"
    farm.master.reactor.advance(DAY_S)
    await look.advance()
    assert len(await farm.store.ab_tests()) == 1, "the last time's goes on"
    await farm.store.change_ab_test(started, state="cancelled", ended_at=farm.now())
    await look.advance()
    assert len(await farm.store.ab_tests()) == 2


async def test_the_mail_says_what_the_factors_do(farm, published):
    past = await arrive(farm, published)
    farm.master.reactor.advance(DAY_S)
    await ScheduledComparisons(farm).advance()
    assert await mails(farm) == []
    await measure_all(farm, past)
    await mails(farm)
    (mail,) = await mails(farm)
    assert mail["To"] == "net@example.org, ann@example.org"
    assert mail["Subject"].startswith("[bench] vimage x tx at r2: forwarding: ")
    (ab_test,) = await farm.store.ab_tests()
    for part in ("plain", "html"):
        text = " ".join(mail.get_body((part,)).get_content().split())
        assert re.search(r"vimage=with makes forwarding 45\.\d % slower with tx=0 ", text)
        assert re.search(r" and 163\.\d % faster with tx=1 ", text)
        assert "boot the same images" in text
    text = mail.get_body(("plain",)).get_content()
    page = f"http://farm.example.org/#/bench/comparisons/{ab_test.id}"
    assert f"Each boot: {page}" in text.splitlines()


async def test_what_nobody_asked_bench_yml_for_is_not_mailed(farm, published):
    await arrive(farm, published)
    farm.master.reactor.advance(DAY_S)
    await ScheduledComparisons(farm).advance()
    (ab_test,) = await farm.store.ab_tests()
    await farm.store.change_ab_test(ab_test, state="cancelled", ended_at=farm.now())
    assert await mails(farm) == []


async def test_a_question_that_is_refused_is_asked_no_more_that_time(farm, published):
    await arrive(farm, published)
    farm.master.reactor.advance(DAY_S)
    look = ScheduledComparisons(farm)
    farm.workflow.on.schedule[0].factors["vimage"] = "commit:0123456789"
    await look.advance()
    await look.advance()
    assert await farm.store.ab_tests() == []
