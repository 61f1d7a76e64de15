"""A search of one combination of factors: each boot has the tunable set, and no other counts."""

import hashlib

import pytest

from buildbot_bench.api.requests import SearchQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import shared
from buildbot_bench.plugin.broker.alarms import Recoveries, search_of
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.db.finding_rows import RaisedAlarm, SeriesRange
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.search_requests import SearchRequests
from buildbot_bench.render.message import report_text
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

SLOW_FROM = 7
TUNABLE = "dev.igb.0.iflib.simple_tx=1"


async def lab_answers(farm, past) -> set[str]:
    """Build and boot what is asked for; the tunables that were set."""
    asked = set()
    for probe in await farm.store.probes(state="new"):
        image = await farm.store.image(probe.image_id)
        asked.add(probe.tunables)
        digest = hashlib.sha256(image.variant.encode()).hexdigest()
        await farm.store.change(image, changed_at=1.0, state="built", digest=digest, size=9)
        slow = image.position >= SLOW_FROM and probe.tunables == TUNABLE
        for ordinal, one in enumerate(
            boots(8e5 if slow else 1e6, probe.iterations, series=probe.id)
        ):
            await past.add(probe, ordinal, one)
        await farm.store.change(probe, state="done", ended_at=farm.now())
    return asked


async def test_what_is_slow_with_the_tunable_alone_is_found_with_it(farm, past):
    await past.commits(*range(1, 13))
    for position in (1, 12):  # plain boots, which deny that anything changed
        await past.measured(position, boots(1e6, series=position))
    question = SearchQuestion(old="r1", new="r12", tunables=(TUNABLE,))
    await SearchRequests(farm).start(question, "ann")
    asked: set[str] = set()
    for _ in range(120):
        await Searching(farm).advance()
        new = await lab_answers(farm, past)
        if not new:
            break
        asked |= new
    (search,) = await farm.store.searches()
    assert (search.state, asked) == ("found", {TUNABLE})
    (shown,) = [await SearchViews(farm).describe(search.id)]
    assert shown["tunables"] == TUNABLE
    report = await report_of(farm, search)
    assert [one.label for one in report.headline.suspects] == [f"r{SLOW_FROM}"]
    text = " ".join(report_text(report).split())
    assert f"Each boot had {TUNABLE} set." in text
    assert f"--tunable {TUNABLE}" in text
    # The series without the tunable, in which nothing happened, does not end it.
    await Recoveries(farm).advance()
    assert (await farm.store.search(search.id)).recovery is None
    # An alarm of that series is not explained by it.
    alarm = RaisedAlarm(**shared(SeriesRange, search) | {"unit": "pps"}, claimed=-0.2)
    assert (await search_of(farm, alarm, key="alarm:1", branch="main")).id != search.id


@pytest.mark.parametrize(
    ("tunables", "complaint"),
    [
        (("net.x",), "'net.x' is no tunable; write NAME=VALUE"),
        (("net.x=1+D5",), "is no tunable"),
        (("net.x=1", "net.x=2"), "says 2 things of the tunable net.x"),
    ],
)
async def test_what_is_no_tunable_is_refused_before_anything_is_booted(farm, tunables, complaint):
    question = SearchQuestion(old="r1", new="r12", tunables=tunables)
    with pytest.raises(UsageError, match=complaint):
        await SearchRequests(farm).start(question, "ann")
    assert await farm.store.searches() == []
