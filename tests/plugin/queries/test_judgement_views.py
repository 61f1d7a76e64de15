"""All searches and verdicts, with what came of them."""

import pytest

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.finding_rows import VerdictGrounds
from buildbot_bench.plugin.queries.judgements import verdicts
from buildbot_bench.plugin.queries.searches import reports
from tests.fakes.past import boots

pytestmark = pytest.mark.both_databases

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
ANSWER = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="located")


async def test_searches_are_told_newest_first_with_what_they_found(farm, past):
    await past.measured(7, boots(0.8e6))
    await past.answered(ANSWER)
    await past.search(state="failed", detail="no power", ended_at=1.0)
    said = [("github-status", "a" * 40, "it fell")]
    await farm.store.add_notices(1, said, now=1.0)
    await farm.store.add_notices(2, [], now=1.0)
    failed, found = await reports(farm, 10)
    assert [(m["label"], m["effect"]) for m in found["culprits"]] == [("r7", -0.2)]
    assert (found["state"], found["detail"], found["mail"]) == ("found", "located", None)
    assert (failed["culprits"], failed["detail"]) == ([], "no power")
    assert found["notices"] == [
        {"kind": "github-status", "target": "a" * 40, "state": "new", "error": None}
    ]
    assert failed["notices"] == []
    assert found["flame_graphs"] is None
    assert len(await reports(farm, 1)) == 1


async def test_verdicts_worth_a_look_are_told_newest_first(farm, past):
    await past.judgement(
        1, 2, state="regression", effect=-0.1, verdict=VerdictGrounds(reason="it fell")
    )
    await past.judgement(2, 3, state="nothing")
    await past.judgement(3, 4, state="suspicion")
    newest, oldest = await verdicts(farm, 10)
    assert (newest["state"], newest["new"]["label"]) == ("suspicion", "r4")
    assert (oldest["effect"], oldest["reason"]) == (-0.1, "it fell")
    assert oldest["new"]["subject"] == "Change 2"
    assert len(await verdicts(farm, 1)) == 1


async def test_a_revision_that_the_mirror_lost_is_told_by_its_hash(farm, past):
    past.shas = {**past.shas, 3: "f" * 40}
    await past.judgement(2, 3)
    (told,) = await verdicts(farm, 10)
    assert told["new"]["label"] == "f" * 10
