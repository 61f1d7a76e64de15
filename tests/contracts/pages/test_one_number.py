"""One number for one culprit: what the report's headline says is what each page and mail says.

The search's own estimate lies a point beside the change of the two levels, so that nobody who
shows it in place of the headline is overlooked.
"""

import re
from email import message_from_bytes, policy

import pytest

from buildbot_bench.api.answers import SearchShown
from buildbot_bench.core.figures import percent, size
from buildbot_bench.core.json_model import from_json
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.triggers import WEEK_S
from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.broker.searching import Stating
from buildbot_bench.plugin.outbox.search_mails import write_digest
from tests.fakes.past import boots
from tests.fakes.served import API, PAGES, ServedFarm

ESTIMATE = -0.215
STEP = Step(old=5, new=6, effect=ESTIMATE, low=-0.23, high=-0.19, probability=0.999)
FOUND = Answer(steps=(STEP,), reproduced=True, unresolved=(), reason="located")
BETTER = Answer(
    steps=(Step(old=5, new=6, effect=0.26, low=0.23, high=0.27, probability=0.999),),
    reproduced=True,
    unresolved=(),
    reason="located",
)


@pytest.fixture
def farm(make_farm):
    """Without captures: a mail would wait for them."""
    return make_farm()


@pytest.fixture
def ended(past, farm, master):
    """A search that has ended on a farm that is served; its report, as JSON, and its number."""

    async def end(answer: Answer = FOUND, new_level: float = 0.8e6, **columns):
        await past.commits(*range(1, 12))
        await past.measured(6, boots(1e6))
        await past.measured(7, boots(new_level, series=1))
        search = await past.answered(answer, **columns)
        await Cycle(farm=farm, scheduler=master).run()
        return await ServedFarm(master).start(), search.id

    return end


async def found(served: ServedFarm, path: str) -> dict:
    body = (await served.get(f"{API}bench/{path}")).json
    (rows,) = (rows for name, rows in body.items() if name != "meta")
    return rows[0]


async def effects_of_json(served: ServedFarm, number: int) -> dict[str, float]:
    """What each resource gives for the culprit of the one search that there is."""
    search = await found(served, f"searches/{number}")
    overview = await found(served, "overview")
    history = (await served.get(f"{PAGES}history/apu/forwarding")).json["views"][0]
    marks = [one for one in history["marks"] if one["kind"] == "culprit"]
    return {
        "report": search["report"]["headline"]["effect"],
        "overview": overview["incidents"][0]["series"][0]["effect"],
        "incidents": (await found(served, "incidents"))["series"][0]["effect"],
        "incident": (await found(served, f"incidents/{number}"))["series"][0]["effect"],
        "reports": (await found(served, "reports"))["culprits"][0]["effect"],
        "strip": (await found(served, f"searches/{number}/strip"))["culprits"][0]["effect"],
        "history": marks[0]["effect"],
    }


async def texts_of(served: ServedFarm, farm, number: int) -> dict[str, str]:
    """What people read of it."""
    search = (await served.get(f"{API}bench/searches/{number}")).json["searches"][0]
    mail = await farm.store.report_of_search(number)
    message = message_from_bytes(mail.message, policy=policy.default)
    page = await found(served, f"searches/{number}/report")
    return {
        "subject": mail.subject,
        "mail": message.get_body(("plain",)).get_content(),
        "mail as HTML": message.get_body(("html",)).get_content(),
        "command": from_json(SearchShown, search).text,
        "card": page["card"],
        "badge": (await served.get(f"{PAGES}badge.svg")).body.decode(),
    }


async def test_each_page_and_mail_gives_the_number_of_the_headline(ended, farm):
    served, number = await ended()
    effects = await effects_of_json(served, number)
    headline = effects["report"]
    assert abs(headline - ESTIMATE) > 0.005
    assert effects == dict.fromkeys(effects, headline)
    for name, text in (await texts_of(served, farm, number)).items():
        words = re.sub(r"<[^>]*>|\s+", " ", text)
        assert percent(headline) in words or size(headline) in words, name
        assert percent(ESTIMATE) not in words, name
        assert size(ESTIMATE) not in words, name


async def test_boots_made_since_move_no_number(ended, past):
    served, number = await ended()
    before = await effects_of_json(served, number)
    await past.measured(7, boots(0.79e6, series=5))
    assert await effects_of_json(served, number) == before
    (search,) = (await served.get(f"{API}bench/searches/{number}")).json["searches"]
    assert "made after the search ended" in search["text"]


async def test_a_search_of_an_earlier_release_gets_the_same_number(ended, farm):
    served, number = await ended()
    before = await effects_of_json(served, number)
    search = await farm.store.search(number)
    await farm.store.change(search, stated=None)
    assert (await effects_of_json(served, number))["overview"] == ESTIMATE
    await Stating(farm).advance()
    assert await effects_of_json(served, number) == before


async def test_a_range_that_nobody_can_read_keeps_the_estimate(ended, past, farm):
    served, _ = await ended()
    gone = await past.answered(FOUND, workload="pf")
    await farm.store.change(gone, old_sha="e" * 40, new_sha="f" * 40)
    await Stating(farm).advance()
    (change,) = (await farm.store.search(gone.id)).stated.steps
    assert (change.effect, change.levels) == (ESTIMATE, None)
    assert await farm.store.unstated_searches(5) == []
    assert (await served.get(f"{API}bench/incidents")).status == 200


async def test_the_digest_gives_the_number_of_its_improvement(ended, farm, master):
    served, number = await ended(BETTER, 1.25e6, claimed=0.25, reason="alarm")
    headline = (await found(served, f"searches/{number}"))["report"]["headline"]["effect"]
    row = await farm.store.report_of_search(number)
    assert row.state == "withheld"
    master.reactor.advance(WEEK_S)
    await write_digest(farm, farm.workflow.mail)
    (due,) = await farm.store.due_reports(farm.now())
    message = message_from_bytes(due.message, policy=policy.default)
    assert size(headline) in message.get_body(("plain",)).get_content()
    assert (await found(served, "incidents"))["series"][0]["effect"] == headline
