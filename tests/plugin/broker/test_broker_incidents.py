"""One commit that slows several series: one search, confirmed on the others, and one mail."""

import re
from collections import Counter
from email import message_from_bytes, policy

import pytest

from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.search import Answer, Slope, SlopePart
from buildbot_bench.plugin.broker.alarms import search_of
from buildbot_bench.plugin.broker.follow_ups import search_for
from buildbot_bench.plugin.broker.incidents import Incidents
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.db.finding_rows import RaisedAlarm
from buildbot_bench.plugin.outbox.mail_outbox import MailOutbox
from buildbot_bench.plugin.queries.history import marks_of
from buildbot_bench.plugin.queries.incident_groups import incident_json
from buildbot_bench.plugin.queries.incidents import MOST_WAIT_S
from buildbot_bench.plugin.queries.reports import report_of
from tests.fakes.gated import COUNTED, GATED, count
from tests.fakes.past import Past, boots

pytestmark = pytest.mark.both_databases

TWO = (("workload: [forwarding]", "workload: [forwarding, pf]"),)
CULPRIT = 7
SERIES = ("apu", "forwarding"), ("apu", "pf")


@pytest.fixture
def farm(make_farm):
    return make_farm(*TWO)


@pytest.fixture
def past(farm, published) -> Past:
    return Past(farm, published[2])


async def alarm(
    past: Past, workload: str, *, old=2, new=12, effect=-0.2, testbed="apu", unit="pps"
) -> int:
    """The judge raises an alarm over (old, new]; the search that it is linked to."""
    farm = past.farm
    await past.commits(*range(1, 15))
    await past.image(old)
    row = await past.judgement(
        old, new, workload=workload, testbed=testbed, effect=effect,
        low=1.1 * effect, high=0.9 * effect,
    )  # fmt: skip
    await search_for(farm, row, anchor=old, claimed=effect, unit=unit)
    return (await farm.store.judgement(row.id)).search_id


async def lab_answers(
    past: Past, culprits: dict[str, int | None], *, effect=-0.2, one_order=False
) -> None:
    """Build and measure all that is asked for; a workload is slow from its culprit on.

    `one_order`: further images come out as the first one again.
    """
    store = past.farm.store
    for probe in await store.probes(state="new"):
        image = await store.image(probe.image_id)
        if image.state == "wanted":
            same = {"state": "built", "size": 9, "digest": f"{image.position:064x}"}
            columns = same if one_order else {}
            image = await past.image(image.position, ordinal=image.ordinal, **columns)
        culprit = culprits[probe.workload]
        slow = culprit is not None and image.position >= culprit
        level = 1e6 * (1 + effect) if slow else 1e6
        for ordinal, one in enumerate(boots(level, probe.iterations, series=probe.id)):
            await past.add(probe, ordinal, one)
        await store.change(probe, state="done", ended_at=past.farm.now())


async def settle(past: Past, culprits: dict[str, int | None], **lab) -> None:
    """Let searches and confirmations go on until nothing is asked for."""
    searching, incidents = Searching(past.farm), Incidents(past.farm)
    for _ in range(80):
        await searching.advance()
        await incidents.advance()
        await searching.advance()
        if not await past.farm.store.probes(state="new"):
            return
        await lab_answers(past, culprits, **lab)
    raise AssertionError("it never ends")


async def members(farm, search_id: int) -> dict[str, str]:
    rows = await farm.store.series_of_incident(search_id)
    return {row.workload: str(row.standing) for row in rows}


async def boots_of(farm, search_id: int) -> Counter:
    counts: Counter = Counter()
    for probe in await farm.store.probes_of_search(search_id):
        counts[probe.workload] += len(await farm.store.iterations_of_probe(probe.id))
    return counts


async def test_alarms_of_two_workloads_are_one_search_and_both_are_proved(past, farm):
    first = await alarm(past, "forwarding")
    assert await alarm(past, "pf") == first
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    (search,) = await farm.store.searches()
    assert (search.state, search.old_position + search.steps[0].new) == ("found", CULPRIT)
    assert await members(farm, first) == {"pf": "confirmed"}
    counts = await boots_of(farm, first)
    assert counts["pf"] == 6
    (row,) = await farm.store.series_of_incident(first)
    assert row.low < -0.2 < row.high


async def test_a_small_step_is_confirmed_on_two_images_of_both_sides(past, farm):
    first = await alarm(past, "forwarding", effect=-0.06)
    await alarm(past, "pf", effect=-0.06)
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT}, effect=-0.06)
    assert await members(farm, first) == {"pf": "confirmed"}
    booted = set()
    for probe in await farm.store.probes_of_search(first):
        image = await farm.store.image(probe.image_id)
        if probe.workload == "pf":
            booted.add((image.position, image.ordinal))
    assert booted >= {(at, image) for at in (CULPRIT - 1, CULPRIT) for image in (0, 1)}


async def test_without_another_order_a_small_step_is_not_told_from_layout(past, farm):
    first = await alarm(past, "forwarding", effect=-0.06)
    await alarm(past, "pf", effect=-0.06)
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT}, effect=-0.06, one_order=True)
    assert (await farm.store.search(first)).state == "inconclusive"
    (row,) = await farm.store.series_of_incident(first)
    assert row.standing is Standing.UNCLEAR


async def test_an_alarm_that_saw_more_than_the_step_has_its_rest_searched(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf", effect=-0.5)
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    (row,) = await farm.store.series_of_incident(first)
    assert row.standing is Standing.CONFIRMED
    assert row.own_search_id not in {None, first}


async def test_a_series_whose_change_lies_elsewhere_gets_its_own_search(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    await settle(past, {"forwarding": CULPRIT, "pf": 11})
    own, incident = await farm.store.searches()
    assert (incident.id, await members(farm, first)) == (first, {"pf": "denied"})
    assert (own.workload, own.state) == ("pf", "found")
    assert own.old_position + own.steps[0].new == 11
    assert own.id in {row.search_id for row in await farm.store.judgements()}
    (row,) = await farm.store.series_of_incident(first)
    assert row.own_search_id == own.id


async def test_a_step_outside_of_a_series_range_is_denied_without_a_boot(past, farm):
    first = await alarm(past, "forwarding")
    assert await alarm(past, "pf", old=9, new=13) == first
    await settle(past, {"forwarding": CULPRIT, "pf": 11})
    assert await members(farm, first) == {"pf": "denied"}
    assert "pf" not in await boots_of(farm, first)


async def test_an_alarm_that_comes_later_for_the_same_step_joins(past, farm):
    first = await alarm(past, "forwarding")
    await settle(past, {"forwarding": CULPRIT})
    assert await alarm(past, "pf", old=3, new=14) == first
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    assert await members(farm, first) == {"pf": "confirmed"}
    assert len(await farm.store.searches()) == 1


async def test_an_alarm_in_the_other_direction_does_not_join(past, farm):
    first = await alarm(past, "forwarding")
    assert await alarm(past, "pf", effect=0.2) not in {None, first}


async def test_what_a_person_searches_is_no_incident(past, farm):
    person = await past.search(2, 12)
    assert await alarm(past, "pf") not in {None, person.id}


async def test_a_series_that_was_denied_does_not_join_again(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    await settle(past, {"forwarding": CULPRIT, "pf": None})
    own = (await farm.store.searches())[0]
    assert (own.workload, own.state) == ("pf", "not-reproduced")
    again = await alarm(past, "pf", old=3, new=13)
    assert again not in {first, own.id}


async def test_a_search_that_found_nothing_leaves_the_others_one_search(past, farm, make_farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    await settle(past, {"forwarding": None, "pf": CULPRIT})
    own = (await farm.store.searches())[0]
    assert (own.workload, own.state) == ("pf", "found")
    assert await members(farm, first) == {"pf": "unclear"}


async def test_a_search_that_a_person_cancelled_takes_the_others_along(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    search = await farm.store.search(first)
    await farm.store.change(search, state="cancelling")
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    assert await members(farm, first) == {"pf": "unclear"}
    assert len(await farm.store.searches()) == 1


async def test_a_search_moves_to_the_series_that_tells_more(past, farm):
    first = await alarm(past, "forwarding", effect=-0.02)
    assert await alarm(past, "pf", effect=-0.2) == first
    search = await farm.store.search(first)
    assert (search.workload, search.claimed) == ("pf", -0.2)
    assert await members(farm, first) == {"forwarding": "waiting"}
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    assert await members(farm, first) == {"forwarding": "confirmed"}
    (row,) = await farm.store.series_of_incident(first)
    assert row.judgement_id is not None


async def test_a_search_that_is_nearly_done_stays(past, farm):
    first = await alarm(past, "forwarding", effect=-0.02)
    for number in range(60):
        await past.measured(number % 3 + 3, (1e6,), search_id=first, reason="search")
    await alarm(past, "pf", effect=-0.2)
    assert (await farm.store.search(first)).workload == "forwarding"


async def test_an_alarm_that_is_handled_twice_joins_once(past, farm):
    first = await alarm(past, "forwarding")
    raised = RaisedAlarm(
        testbed="apu", workload="pf", unit="pps", old_sha=past.shas[2], old_position=2,
        new_sha=past.shas[12], new_position=12, claimed=-0.2,
    )  # fmt: skip
    for _ in range(2):
        assert (await search_of(farm, raised, key="alarm:9", branch="main")).id == first
    assert await members(farm, first) == {"pf": "waiting"}


async def test_a_series_that_the_lab_cannot_measure_ends_unclear(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    searching, incidents = Searching(farm), Incidents(farm)
    for _ in range(60):
        await searching.advance()
        await incidents.advance()
        for probe in await farm.store.probes(state="new"):
            if probe.workload == "pf":
                failed = {"failure": "no power", "failure_kind": "infrastructure"}
                await farm.store.change(probe, state="lost", **failed)
        await lab_answers(past, {"forwarding": CULPRIT})
        if (await members(farm, first))["pf"] != "waiting":
            break
    (row,) = await farm.store.series_of_incident(first)
    assert (row.standing, row.reason) == (Standing.UNCLEAR, "no power")


async def test_a_step_that_an_exact_testbed_found_is_confirmed_on_the_hardware(
    make_farm, published
):
    farm = make_farm(*GATED, ("boot: 300s", "boot: 30s"))
    past = Past(farm, published[2])
    for position in (2, 12):
        await count(past, position, 1010.0 if position >= CULPRIT else 1000.0)
    first = await alarm(past, "forwarding", testbed="xeon", effect=0.01, unit=COUNTED)
    assert await alarm(past, "forwarding", testbed="apu") == first
    searching, incidents = Searching(farm), Incidents(farm)
    while (await farm.store.series_of_incident(first))[0].standing is Standing.WAITING:
        await searching.advance()
        await incidents.advance()
        for probe in await farm.store.probes(state="new"):
            image = await farm.store.image(probe.image_id)
            slow = image.position >= CULPRIT
            figures = (1000.0, 1010.0, COUNTED) if probe.testbed == "xeon" else (1e6, 0.8e6, "pps")
            for ordinal in range(probe.iterations):
                await past.add(probe, ordinal, figures[slow], unit=figures[2])
            await past.image(image.position)
            await farm.store.change(probe, state="done")
    (search,) = await farm.store.searches()
    assert (search.testbed, search.state) == ("xeon", "found")
    (hardware,) = await farm.store.series_of_incident(first)
    assert (hardware.testbed, hardware.standing) == ("apu", Standing.CONFIRMED)
    assert hardware.effect == pytest.approx(-0.2, abs=0.01)


async def test_the_mail_waits_for_the_other_series_and_shows_both(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    searching, mails = Searching(farm), MailOutbox(farm)
    culprits = {"forwarding": CULPRIT, "pf": CULPRIT}
    while (await farm.store.search(first)).ended_at is None:
        await searching.advance()
        await lab_answers(past, culprits)
    await mails.advance()
    assert await farm.store.report_of_search(first) is None
    await settle(past, culprits)
    await mails.advance()
    mail = await farm.store.report_of_search(first)
    assert len(await farm.store.mails_like("search:")) == 1
    text = message_from_bytes(mail.message, policy=policy.default)
    shown = " ".join(text.get_body(("plain",)).get_content().split())
    assert re.search(r"apu forwarding -(19|20)\.\d % \+/- \d\.\d % this report", shown)
    assert "changed, confirmed, r6 to r7" in shown


async def test_the_mail_waits_no_longer_than_for_six_hours(past, farm, master):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    searching, mails = Searching(farm), MailOutbox(farm)
    while (await farm.store.search(first)).ended_at is None:
        await searching.advance()
        await lab_answers(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    master.reactor.advance(MOST_WAIT_S + 1)
    await mails.advance()
    assert await farm.store.report_of_search(first) is not None


@pytest.mark.parametrize(("known", "waits"), [((), True), ((8,), False)])
async def test_the_mail_waits_for_a_series_that_has_not_spoken_of_the_step(
    past, farm, known, waits
):
    first = await alarm(past, "forwarding")
    await settle(past, {"forwarding": CULPRIT})
    for position in known:
        await past.measured(position, (1e6,), workload="pf")
    await past.probe(12, workload="pf")
    await MailOutbox(farm).advance()
    assert (await farm.store.report_of_search(first) is None) is waits


@pytest.mark.parametrize("other", [{"workload": "pf"}, {"workload": "forwarding", "value": "a"}])
async def test_the_mail_waits_for_a_suspicion_of_the_same_commits(past, farm, other):
    first = await alarm(past, "forwarding")
    await settle(past, {"forwarding": CULPRIT})
    row = await past.judgement(5, 9, **other, state="suspicion")
    await MailOutbox(farm).advance()
    assert await farm.store.report_of_search(first) is None
    await farm.store.change(row, changed_at=farm.now(), state="nothing")
    await MailOutbox(farm).advance()
    assert await farm.store.report_of_search(first) is not None


async def test_the_log_of_boots_says_which_are_of_another_series(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    report = await report_of(farm, await farm.store.search(first))
    assert Counter(probe.note for probe in report.probes)["pf on apu"] == 6
    assert report.cost.boots == len(report.probes)


async def test_the_history_of_each_series_shows_the_culprit(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    for workload in ("forwarding", "pf"):
        marks = {mark.position: mark for mark in await marks_of(farm, ("apu", workload), "main")}
        assert (marks[CULPRIT].kind, marks[CULPRIT].searchid) == ("culprit", first)


async def test_rest_shows_each_series_with_its_confirmation(past, farm):
    first = await alarm(past, "forwarding")
    await alarm(past, "pf")
    await settle(past, {"forwarding": CULPRIT, "pf": CULPRIT})
    own, other = await incident_json(farm, await farm.store.search(first))
    assert (own["searched"], own["standing"], own["workload"]) == (True, "found", "forwarding")
    assert (other["standing"], other["boots"], other["workload"]) == ("confirmed", 6, "pf")


async def end_as_slope(past: Past, search_id: int, effect: float) -> None:
    """What the search of an alarm over (2, 12] came to: all of it, little by little."""
    whole = SlopePart(old=0, new=10, effect=effect, low=effect - 0.01, high=effect + 0.01)
    slope = Slope(whole=whole, parts=(whole,))
    answer = Answer(steps=(), reproduced=True, unresolved=(), reason="", slopes=(slope,))
    store, ended_at = past.farm.store, past.farm.now()
    search = await store.search(search_id)
    await store.change(search, state="slope", answer=answer, ended_at=ended_at)


async def a_slope(past: Past) -> int:
    """A search that found one of 10 % on forwarding."""
    first = await alarm(past, "forwarding", effect=-0.1)
    await end_as_slope(past, first, -0.1)
    return first


async def test_an_alarm_of_another_series_within_a_slope_joins_and_is_not_searched(past, farm):
    first = await a_slope(past)
    assert await alarm(past, "pf", old=4, new=9, effect=-0.06) == first
    await Incidents(farm).advance()
    (row,) = await farm.store.series_of_incident(first)
    assert (row.standing, row.own_search_id) == (Standing.UNCLEAR, None)
    assert row.reason == f"it lies within the slope that search {first} found"
    assert len(await farm.store.searches()) == 1
    assert await farm.store.probes(state="new") == []


async def test_a_series_that_joined_before_the_slope_was_found_is_not_searched_either(past, farm):
    first = await alarm(past, "forwarding", effect=-0.1)
    assert await alarm(past, "pf", old=2, new=12, effect=-0.1) == first
    await end_as_slope(past, first, -0.1)
    await Incidents(farm).advance()
    assert await members(farm, first) == {"pf": "unclear"}
    assert len(await farm.store.searches()) == 1


@pytest.mark.parametrize(
    "about",
    [
        {"old": 4, "new": 14, "effect": -0.06},  # it goes on behind the slope
        {"old": 4, "new": 9, "effect": -0.25},  # more than all of the slope
        {"old": 4, "new": 9, "effect": 0.06},
    ],
)
async def test_what_is_no_part_of_a_slope_is_searched(past, farm, about):
    first = await a_slope(past)
    assert await alarm(past, "pf", **about) != first
    assert len(await farm.store.searches()) == 2
