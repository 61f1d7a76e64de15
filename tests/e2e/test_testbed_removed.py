"""A testbed is renamed in bench.yml while it blasts: what ran ends, what was measured stays."""

import httpx
import pytest

from tests.asking import ASKED
from tests.e2e.checks import steps_of
from tests.e2e.replay_farm import API, ReplayFarm, Row, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

STEP = [("r312903", "r312904", 1)]
WHY = "testbed replay is no longer in bench.yml"
WAITING = "SELECT count(*) FROM buildrequests WHERE complete = 0"
READ = [
    "searches",
    "searches/{}",
    "searches/{}/probes",
    "searches/{}/strip",
    "searches/{}/commits/1",
    "history/replay/forwarding/1601",
    "samples/replay/forwarding/csv",
    "series",
    "lab",
    "reports",
    "verdicts",
    "probes",
]


@pytest.fixture(scope="module")
def farm(farms) -> ReplayFarm:
    return farms(Shape(iterations=5))


def reconfigured(farm: ReplayFarm, old: str, new: str) -> None:
    """Rename the testbed, as an editor and `buildbot reconfig` do."""
    workflow = farm.local.plan.workflow
    text = workflow.read_text()
    for place in ("  {}: {{worker", "runs-on: {}\n"):
        assert place.format(old) in text
        text = text.replace(place.format(old), place.format(new))
    workflow.write_text(text)
    farm.reread()


def blasting(farm: ReplayFarm, search_id: int) -> Row | None:
    rows = farm.rows("SELECT * FROM bench_probe WHERE search_id = :id", id=search_id)
    jobs = [(row, farm.events(row["token"])) for row in rows if row["state"] == "issued"]
    return next((row for row, events in jobs if events and events[-1]["event"] == "phase"), None)


def test_a_testbed_goes_and_comes_back(farm: ReplayFarm) -> None:
    ended = farm.begin_search("r312903", "r312904")
    assert steps_of(farm.wait_for_search(ended)["report"]) == STEP
    farm.let_blasts_last(200)
    running = [farm.begin_search("r312300", "r312310"), farm.begin_search("r312400", "r312410")]
    probe = farm.wait(lambda: next(filter(None, (blasting(farm, n) for n in running)), None), "it")

    reconfigured(farm, "replay", "spare")
    for number in running:
        assert farm.wait_for_search(number)["state"] == "cancelled"
        followed = farm.bisect("--follow", str(number))
        assert (followed.returncode, WHY in followed.stdout.lower()) == (3, True), followed
    farm.wait(lambda: farm.events(probe["token"])[-1]["event"] == "failed", "the job's end")
    farm.wait(lambda: farm.value(WAITING) == 0, "the end of all requests")
    for path in READ:
        for number in (ended, *running):
            answer = httpx.get(f"{farm.url}{API}/{path.format(number)}", **ASKED)
            assert answer.status_code == 200, (path, answer.text)
    assert steps_of(farm.get(f"searches/{ended}")["searches"][0]["report"]) == STEP

    reconfigured(farm, "spare", "replay")
    farm.let_blasts_last(0)
    again = farm.begin_search("r312902", "r312904")
    assert steps_of(farm.wait_for_search(again)["report"]) == STEP
    log = (farm.directory / "master.log").read_text()
    assert "KeyError" not in log
