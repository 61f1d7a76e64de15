"""What people and programs are shown of searches, probes and verdicts."""

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.finding_rows import VerdictGrounds
from buildbot_bench.plugin.queries.judgements import newest_judgements
from buildbot_bench.plugin.queries.searches import SearchViews
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


@pytest.fixture
def views(farm) -> SearchViews:
    return SearchViews(farm)


async def test_a_search_that_there_is_not_is_nothing(views):
    assert await views.describe(17) is None
    assert await views.probes(17) is None


async def test_a_search_says_what_was_asked_and_by_whom(views, past):
    search = await past.search(2, 9)
    shown = await views.summarise(search)
    assert (shown["searchid"], shown["state"]) == (search.id, "running")
    assert (shown["testbed"], shown["workload"], shown["unit"]) == ("apu", "forwarding", "pps")
    assert (shown["requester"], shown["commits"]) == ("ann", 7)
    assert shown["old"] == {
        "label": "r2",
        "sha": past.shas[2],
        "position": 2,
        "subject": "Change 2",
        "author": "A Committer <committer@example.org>",
    }
    assert (shown["created_at"], shown["ended_at"]) == (search.created_at, None)


async def test_before_both_ends_are_measured_there_are_no_suspects(views, past):
    search = await past.search()
    shown = await views.describe(search.id)
    assert (shown["suspects"], shown["now"], shown["report"]) == ([], "planning", None)


async def test_the_suspects_are_named_by_label_the_likeliest_first(views, past):
    await past.measured(1, boots(1e6))
    await past.measured(6, boots(1e6))
    await past.measured(11, boots(0.8e6))
    search = await past.search()
    suspects = (await views.describe(search.id))["suspects"]
    assert suspects
    assert set(suspects[0]) == {"old", "new", "probability", "effect"}
    assert suspects[0]["old"] in {f"r{n}" for n in range(6, 11)}
    assert [s["probability"] for s in suspects] == sorted(
        (s["probability"] for s in suspects), reverse=True
    )


async def test_what_is_done_now_is_said_in_a_few_words(views, past):
    search = await past.search()
    asked = {"search_id": search.id, "reason": "search"}
    await past.probe(await past.image(5, state="building"), **asked)
    assert (await views.describe(search.id))["now"] == "building r5 for apu"
    await past.probe(6, **asked)
    assert (await views.describe(search.id))["now"] == "waits for testbed apu"


async def test_a_search_that_has_ended_shows_its_report_and_no_suspects(views, past):
    await past.measured(6, boots(1e6))
    await past.measured(7, boots(0.8e6))
    search = await past.answered(ANSWER)
    shown = await views.describe(search.id)
    assert (shown["state"], shown["suspects"]) == ("found", [])
    assert shown["ended_at"] == search.ended_at
    assert shown["report"]["kind"] == "culprit"
    assert "r7" in shown["text"]


async def test_a_search_that_failed_says_why(views, past):
    search = await past.search(state="failed", detail="no power", ended_at=1.0)
    shown = await views.describe(search.id)
    assert (shown["now"], shown["report"]["kind"]) == ("no power", "inconclusive")


async def test_iterations_and_images_are_counted_as_they_are_had(views, past):
    search = await past.search()
    asked = {"search_id": search.id, "reason": "search"}
    await past.measured(1, boots(1e6, 3), **asked)
    probe = await past.measured(11, (0.8e6,), **asked)
    await past.add(probe, 0, 17.0, unit="packets/CPU-s")
    await past.add(probe, 1, None)
    await past.probe(await past.image(5, state="building"), **asked)
    shown = await views.summarise(search)
    assert (shown["iterations_done"], shown["images_built"]) == (4, 2)


async def test_a_probe_shows_what_it_gave_in_the_primary_unit(views, past):
    search = await past.search()
    probe = await past.measured(6, (1e6, 2e6), search_id=search.id, reason="search")
    await past.add(probe, 0, 17.0, unit="packets/CPU-s")
    (shown,) = await views.probes(search.id)
    assert (shown["probeid"], shown["serial"], shown["label"]) == (probe.id, 1, "r6")
    assert (shown["values"], shown["unit"], shown["failure"]) == ([1e6, 2e6], "pps", None)
    assert (shown["state"], shown["image_state"], shown["position"]) == ("done", "built", 6)
    assert shown["duration_s"] == 4.0


async def test_a_probe_without_values_shows_why(views, past):
    search = await past.search()
    asked = {"search_id": search.id, "reason": "search"}
    await past.add(await past.probe(6, **asked), 0, None)
    await past.probe(7, **asked, state="lost", failure="no power")
    first, second = await views.probes(search.id)
    assert (first["values"], first["failure"]) == ([], "no traffic")
    assert (second["serial"], second["failure"]) == (2, "no power")


async def test_the_newest_probes_of_all_are_shown_first_and_no_more_than_asked_for(views, past):
    for position in (1, 2, 3):
        await past.probe(position)
    shown = await views.recent_probes(2)
    assert [probe["label"] for probe in shown] == ["r3", "r2"]
    assert shown[0]["serial"] == shown[0]["probeid"]
    assert shown[0]["reason"] == "commit"


async def test_verdicts_are_shown_with_their_reasons(farm, past):
    await past.judgement(
        3, 4, state="nothing", verdict=VerdictGrounds(reason="it lies within the noise")
    )
    await past.judgement(4, 5, state="regression", effect=-0.1)
    newest, older = await newest_judgements(farm, 10)
    assert (newest["state"], newest["effect"], newest["reason"]) == ("regression", -0.1, "")
    assert (older["state"], older["reason"]) == ("nothing", "it lies within the noise")
    assert (older["old_sha"], older["new_sha"]) == (past.shas[3], past.shas[4])
