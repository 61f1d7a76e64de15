"""Two masters, a router, PostgreSQL: either may die, and the other has its work within a minute."""

import random
import time

import pytest

from buildbot_bench.demo.verifying import find_troubles
from buildbot_bench.plugin.masters.membership import BEAT_S, HOLD_S
from tests.chaos.masters import Ledger, kill_through_a_search, what_contradicts
from tests.chaos.several_masters import SeveralMasters
from tests.databases import closed_database, postgresql_server
from tests.e2e.checks import place_of
from tests.e2e.inbox import Inbox
from tests.e2e.replay_farm import Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

KILLS = 2
SLOWER = ("r313300", "r313448", [("r313447", "r313448", -1)])
# Who puts back the work of a master that is gone holds that one's lease meanwhile.
LEASES = """\
SELECT trouble FROM bench_lease
WHERE name = 'master:' || masterid AND expires_at > extract(epoch FROM clock_timestamp())"""


@pytest.fixture(scope="module")
def farm(database: str, farms, inbox: Inbox) -> SeveralMasters:
    shape = Shape(db_url=database, blast_s=0.3, commits=False, smtp_port=inbox.port)
    return farms(shape, kind=SeveralMasters)


def troubles(farm: SeveralMasters) -> list[str]:
    """What each master that lives has to tell."""
    return [row["trouble"] for row in farm.rows(LEASES)]


def settled(farm: SeveralMasters) -> dict[str, object]:
    """Wait until both masters have lived for as long as a lease holds; the processes they are."""
    began_at, before = time.monotonic(), {}

    def lasting() -> bool:
        nonlocal began_at, before
        now = {name: one.master.process for name, one in farm.masters.items()}
        # One that is about to end answers, and has its lease, for some seconds more.
        if now != before or troubles(farm) != ["", ""]:
            began_at, before = time.monotonic(), now
        return time.monotonic() - began_at >= HOLD_S

    farm.wait(lasting, "two masters that live and go on to")
    return before


def test_a_search_survives_the_deaths_of_either_master(farm: SeveralMasters, inbox: Inbox):
    ledger = Ledger()
    kill_through_a_search(farm, inbox, random.Random(3), ledger, most=KILLS, question=SLOWER)
    # Whatever was drawn: the master that runs the broker is killed once.
    ledger.kills.append(farm.kill_master(farm.wait_for_broker()))
    ledger.violations += what_contradicts(farm)
    assert ledger.violations == []
    assert ledger.repeated_mails == 0


def test_a_master_that_stood_still_does_not_go_on_as_a_second_broker(farm: SeveralMasters):
    broker = farm.wait_for_broker()
    farm.stand_still(broker)
    other = farm.wait_for_broker(other_than=broker)
    farm.wake(broker)
    # It ends if the other has put its builds back by then, and goes on without the broker if not.
    farm.wait(lambda: farm.answers(broker), "the one that stood still, or a new one")
    farm.wait(lambda: troubles(farm) == ["", ""], "two masters that live")
    assert farm.broker() == other


def test_a_database_that_was_away_for_both_costs_neither_its_builds(
    farm: SeveralMasters, database: str
):
    before = settled(farm)  # from then on one may take what the other left
    broker = farm.wait_for_broker()
    with closed_database(postgresql_server(), database):
        time.sleep(HOLD_S + BEAT_S)  # both leases run out
    farm.wait(lambda: troubles(farm) == ["", ""], "both leases renewed")
    time.sleep(2 * BEAT_S)
    assert farm.broker() == broker
    assert troubles(farm) == ["", ""]
    for name, one in farm.masters.items():
        assert one.master.process is before[name]
        assert one.master.running


def test_a_router_that_goes_is_told_and_its_return_is_enough(farm: SeveralMasters):
    farm.wait(lambda: troubles(farm) == ["", ""], "two masters that hear one another")
    before = {name: one.master.process for name, one in farm.masters.items()}
    farm.router.kill()
    farm.wait(
        lambda: all(one.master.process is not before[name] for name, one in farm.masters.items()),
        "masters that start again without a router",
    )
    farm.wait_for_broker()
    lacks = f"not connected to the router {farm.router.url}"

    def shown() -> bool:
        masters = farm.get("lab")["views"][0]["masters"]
        return [lacks in one["trouble"] for one in masters] == [True, True]

    def told() -> bool:
        found = [one for one in find_troubles(place_of(farm)) if one.part == "masters"]
        return [(lacks in one.problem, "start crossbar" in one.next) for one in found] == [
            (True, True)
        ] * 2

    # A master that has just started has not looked yet.
    farm.wait(shown, "the Lab page to say what both masters lack")
    farm.wait(told, "the doctor to say what both masters lack")
    farm.router.start()
    farm.wait(lambda: troubles(farm) == ["", ""], "masters that found the router")
    # What is asked of one master reaches the broker, wherever that runs.
    search_id = farm.wait(lambda: farm.begin_anywhere("r313290", "r313448"), "a search")
    farm.wait(lambda: farm.has_ended(search_id), "its end")
