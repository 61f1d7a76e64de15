"""Why the lab gave nothing reaches the page, the report and the operator, in its own words."""

from email import message_from_bytes, policy

import pytest
from twisted.internet import reactor, task

from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.outbox.farm_mails import WEEK_S, write_alive
from buildbot_bench.plugin.outbox.mail_outbox import MailOutbox
from buildbot_bench.plugin.queries.overview import lab
from buildbot_bench.plugin.queries.searches import SearchViews

WHY = (
    "bench-lab: cannot read the list of testbeds: [Errno 2] No such file or directory:"
    " '/var/lib/lab/testbeds.toml'; name it by --testbeds FILE or BENCH_LAB_TESTBEDS"
)
GIVEN_UP = {"failure": WHY, "failure_kind": "infrastructure"}


@pytest.fixture
def farm(make_farm, port):
    return make_farm(port=port)


async def lose_probes(farm, *, at_s: float) -> None:
    for probe in await farm.store.probes(state="new"):
        await farm.store.change(probe, state="lost", ended_at=at_s, **GIVEN_UP)


async def trouble(farm) -> str | None:
    return next(b["trouble"] for b in (await lab(farm))["testbeds"] if b["testbed"] == "apu")


async def test_a_search_that_the_lab_fails_says_why_on_its_page_in_its_report_and_by_mail(
    farm, past, master, postmaster
):
    search = await past.search()
    searching, post = Searching(farm), MailOutbox(farm)
    for _ in range(MAX_FRUITLESS + 1):
        await searching.advance()
        await lose_probes(farm, at_s=farm.now())
    shown = await SearchViews(farm).describe(search.id)
    assert (shown["state"], shown["now"]) == ("failed", WHY)
    assert WHY[:100] in " ".join(shown["text"].split())
    assert {probe["failure"] for probe in await SearchViews(farm).probes(search.id)} == {WHY}
    await post.advance()
    while post.is_delivering:
        await task.deferLater(reactor, 0.01)
    (mail,) = postmaster.mails
    text = message_from_bytes(mail.content, policy=policy.default).get_body(("plain",))
    assert mail.rcpt_tos == ["ops@example.org"]
    assert WHY.removeprefix("b") in " ".join(text.get_content().split())


async def test_the_lab_page_says_why_the_newest_job_gave_nothing(farm, past):
    assert await trouble(farm) is None
    await past.measured(3, (1e6,))
    assert await trouble(farm) is None
    await past.probe(4, state="lost", ended_at=farm.now() + 1, **GIVEN_UP)
    await past.probe(4, testbed="xeon", state="lost", ended_at=farm.now() + 2, failure="no power")
    assert await trouble(farm) == WHY


async def test_the_lab_page_says_it_before_the_job_is_given_up(farm, past):
    await past.probe(4, state="new", attempt=1, issued_at=farm.now(), failure=WHY)
    assert await trouble(farm) == WHY


async def test_what_the_lab_gave_since_is_no_trouble_any_more(farm, past):
    await past.probe(4, state="lost", ended_at=farm.now(), **GIVEN_UP)
    await past.measured(4, (1e6,))
    assert await trouble(farm) is None


async def test_a_kernel_that_does_not_boot_is_no_trouble_of_the_lab(farm, past):
    panic = {"failure": "panic", "failure_kind": "untestable"}
    await past.probe(4, state="done", ended_at=farm.now(), **panic)
    assert await trouble(farm) is None


async def test_once_a_week_the_operator_hears_what_was_given_up_and_why(farm, past, master):
    await past.probe(3, state="lost", ended_at=farm.now(), failure="long ago, and told")
    master.reactor.advance(WEEK_S)
    await write_alive(farm, farm.workflow.mail)
    no_power = GIVEN_UP | {"failure": "no power"}
    await past.probe(4, state="lost", ended_at=farm.now() + 1, **no_power)
    await past.probe(5, state="lost", ended_at=farm.now() + 2, **GIVEN_UP)
    master.reactor.advance(WEEK_S)
    await write_alive(farm, farm.workflow.mail)
    (first, second) = await farm.store.mails_like("alive:")
    texts = []
    for row in (first, second):
        (kept,) = [one for one in await farm.store.due_reports(farm.now()) if one.id == row.id]
        mail = message_from_bytes(kept.message, policy=policy.default)
        texts.append(" ".join(mail.get_body(("plain",)).get_content().split()))
    assert (
        f"apu: 0 iterations; no control image 2 requests given up. The last reason: {WHY}"
        in texts[1]
    )
    assert "given up" not in texts[0]
