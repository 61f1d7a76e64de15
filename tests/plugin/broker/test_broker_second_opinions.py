"""The culprit of an alarm is booted on another testbed, and its mail says where it is."""

from email import message_from_bytes, policy

import pytest

from buildbot_bench.plugin.broker.follow_ups import search_for
from buildbot_bench.plugin.broker.incidents import Incidents
from buildbot_bench.plugin.broker.searching import Searching, Stating
from buildbot_bench.plugin.outbox.mail_outbox import MailOutbox
from buildbot_bench.plugin.queries.reports import report_of
from tests.fakes.past import Past, boots

pytestmark = pytest.mark.both_databases

BOTH = ("runs-on: apu\n", "runs-on: [apu, xeon]\n")
TWINS = (
    ("runs-on: apu\n", "runs-on: pair\n"),
    ("apu: {worker: lab,", "apu: {labels: pair, worker: lab,"),
    ("xeon: {worker: lab2,", "xeon: {labels: pair, worker: lab2,"),
)
CULPRIT = 7
SLOWER = {"apu": -0.2, "xeon": -0.2}


def opinion(value: str) -> tuple[str, str]:
    return "error: 1%}", f"error: 1%, second-opinion: {value}}}"


class Lab:
    """A farm with the past of an alarm on `apu`; `effects` is what the culprit does where."""

    def __init__(self, farm, shas, **effects: float) -> None:
        self.farm, self.past, self.effects = farm, Past(farm, shas), effects

    async def alarm(self, testbed: str = "apu", effect: float = -0.2) -> int:
        """The judge raises an alarm over (2, 12]; the search that it is linked to."""
        past = self.past
        await past.commits(*range(1, 15))
        await past.image(2)
        row = await past.judgement(
            2, 12, testbed=testbed, workload="forwarding", effect=effect,
            low=1.1 * effect, high=0.9 * effect,
        )  # fmt: skip
        await search_for(self.farm, row, anchor=2, claimed=effect, unit="pps")
        return (await self.farm.store.judgement(row.id)).search_id

    async def searched(self, search_id: int) -> None:
        """Let the search come to its end, and those that tell of it hear of it."""
        searching = Searching(self.farm)
        while (await self.farm.store.search(search_id)).ended_at is None:
            await searching.advance()
            await self._answer()
        await Stating(self.farm).advance()

    async def settle(self) -> None:
        """Let all that is asked for be measured."""
        for _ in range(80):
            await Incidents(self.farm).advance()
            await Searching(self.farm).advance()
            if not await self.farm.store.probes(state="new"):
                return
            await self._answer()
        raise AssertionError("it never ends")

    async def _answer(self) -> None:
        for probe in await self.farm.store.probes(state="new"):
            image = await self.farm.store.image(probe.image_id)
            if image.state == "wanted":
                image = await self.past.image(image.position, ordinal=image.ordinal)
            slow = image.position >= CULPRIT
            level = 1e6 * (1 + self.effects.get(probe.testbed, 0.0) * slow)
            for ordinal, one in enumerate(boots(level, probe.iterations, series=probe.id)):
                await self.past.add(probe, ordinal, one)
            await self.farm.store.change(probe, state="done", ended_at=self.farm.now())

    async def standings(self, search_id: int) -> dict[str, str]:
        rows = await self.farm.store.series_of_incident(search_id)
        return {row.testbed: str(row.standing) for row in rows}

    async def mail(self, search_id: int) -> str | None:
        """The text of the mail, once it is written."""
        await MailOutbox(self.farm).advance()
        row = await self.farm.store.report_of_search(search_id)
        if row is None:
            return None
        whole = message_from_bytes(row.message, policy=policy.default)
        return " ".join(whole.get_body(("plain",)).get_content().split())


@pytest.fixture
def make_lab(make_farm, published):
    def make(*replaced: tuple[str, str], **effects: float) -> Lab:
        return Lab(make_farm(*(replaced or (BOTH,))), published[2], **effects)

    return make


async def known_on_xeon(lab: Lab, unit: str = "pps") -> None:
    await lab.past.measured(1, (1e6,) * 5, testbed="xeon", unit=unit)


@pytest.mark.parametrize(
    ("there", "standing", "words"),
    [
        (-0.2, "confirmed", "The change is on both testbeds: xeon has -"),
        (0.0, "denied", "The change is only on apu: xeon has "),
        (0.3, "denied", "The change is only on apu: xeon has +"),
    ],
)
async def test_the_mail_waits_for_another_testbed_and_says_where_the_change_is(
    make_lab, there, standing, words
):
    lab = make_lab(apu=-0.2, xeon=there)
    await known_on_xeon(lab)
    first = await lab.alarm()
    await lab.searched(first)
    assert await lab.standings(first) == {"xeon": "waiting"}
    assert await lab.mail(first) is None
    await lab.settle()
    assert await lab.standings(first) == {"xeon": standing}
    assert words in await lab.mail(first)
    report = await report_of(lab.farm, await lab.farm.store.search(first))
    assert report.second_opinion.startswith(words)
    # The lab was asked for both sides alone, and nothing is searched where nothing was seen.
    asked = [p for p in await lab.farm.store.probes_of_search(first) if p.testbed == "xeon"]
    places = [(await lab.farm.store.image(probe.image_id)).position for probe in asked]
    assert set(places) == {CULPRIT - 1, CULPRIT}
    assert len(await lab.farm.store.searches()) == 1


async def test_a_machine_of_the_same_pool_is_asked_before_it_ever_measured(make_lab):
    lab = make_lab(*TWINS, **SLOWER)
    first = await lab.alarm()
    await lab.searched(first)
    await lab.settle()
    assert await lab.standings(first) == {"xeon": "confirmed"}
    assert "on both testbeds" in await lab.mail(first)


async def test_what_the_other_testbed_counts_is_worse_where_it_is_more(make_lab):
    lab = make_lab(apu=-0.2)
    await known_on_xeon(lab, "instructions/packet")
    first = await lab.alarm()
    await lab.searched(first)
    (row,) = await lab.farm.store.series_of_incident(first)
    assert (row.unit, row.claimed > 0) == ("instructions/packet", True)


@pytest.mark.parametrize(
    ("replaced", "asked"),
    [
        ((BOTH, opinion("false")), {}),
        ((BOTH, opinion("apu")), {}),
        ((BOTH, opinion("[apu, xeon]")), {"xeon": "waiting"}),
        ((("testbeds:", "testbeds:"),), {}),  # no job measures on xeon
    ],
)
async def test_bench_yml_says_which_testbeds_are_asked(make_lab, replaced, asked):
    lab = make_lab(*replaced, **SLOWER)
    await known_on_xeon(lab)
    first = await lab.alarm()
    await lab.searched(first)
    assert await lab.standings(first) == asked


async def test_nothing_is_asked_of_what_measured_nothing_yet(make_lab):
    lab = make_lab(**SLOWER)
    first = await lab.alarm()
    await lab.searched(first)
    assert await lab.standings(first) == {}
    assert "The change is" not in await lab.mail(first)


async def test_no_other_testbed_is_asked_of_a_person_s_search_or_an_improvement(make_lab):
    lab = make_lab(apu=0.2, xeon=0.2)
    await known_on_xeon(lab)
    person = await lab.past.search(2, 12)
    better = await lab.alarm(effect=0.2)
    for number in {person.id, better}:
        await lab.searched(number)
        assert await lab.standings(number) == {}


async def test_an_alarm_of_the_asked_testbed_is_explained_by_a_search_of_its_own(make_lab):
    lab = make_lab(apu=-0.2, xeon=0.0)
    await known_on_xeon(lab)
    first = await lab.alarm()
    await lab.searched(first)
    assert await lab.alarm("xeon") == first
    await lab.settle()
    assert await lab.standings(first) == {"xeon": "denied"}
    own, _ = await lab.farm.store.searches()
    assert own.testbed == "xeon"
