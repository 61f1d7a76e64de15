"""Processes end in the middle of their work, and the work is neither lost nor done again."""

import pytest

from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_each_probe_got_what_it_asked_for,
    assert_nothing_was_cancelled,
    assert_whole,
    steps_of,
    wait_until_idle,
)
from tests.e2e.replay_farm import ReplayFarm, Row, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

# Each test's range has one revision more than the last one's: only that is new to the farm.
STEP = [("r312903", "r312904", 1)]


RECORDED = "SELECT count(*) FROM bench_iteration"


@pytest.fixture(scope="module")
def farm(farms) -> ReplayFarm:
    return farms(Shape(build_s=2.0, blast_s=1.5, iterations=5))


def blasting(farm: ReplayFarm, search_id: int) -> Row | None:
    """A probe of a search whose blast goes on at this moment."""
    for probe in farm.rows(
        "SELECT * FROM bench_probe WHERE search_id = :id AND state = 'issued'", id=search_id
    ):
        events = farm.events(probe["token"])
        if events and events[-1]["event"] == "phase":
            return probe
    return None


def search_until_blast(farm: ReplayFarm, old: str, new: str, *, blast_s: float) -> tuple[int, Row]:
    """Start a search; its first blast, which has just begun, lasts so long, further ones do not."""
    farm.let_blasts_last(blast_s)
    search_id = farm.begin_search(old, new)
    probe = farm.wait(lambda: blasting(farm, search_id), "a blast")
    farm.let_blasts_last(0)
    return search_id, probe


def is_over(farm: ReplayFarm, probe: Row) -> bool:
    return farm.events(probe["token"])[-1]["event"] == "finished"


def test_iterations_from_before_a_kill_are_not_recorded_again(farm: ReplayFarm) -> None:
    farm.wait(lambda: farm.value(RECORDED) >= 2, "two of the five iterations of the tip")
    farm.kill("master")
    farm.resume("master")
    wait_until_idle(farm)
    assert farm.rows("SELECT state, iterations FROM bench_probe") == [
        {"state": "done", "iterations": 5}
    ]
    assert_each_iteration_is_there_once(farm)


def test_stopped_master_finds_the_blast_that_went_on_without_it(farm: ReplayFarm) -> None:
    # A busy machine takes seconds to stop a master, and the blast is to outlive it.
    search_id, probe = search_until_blast(farm, "r312903", "r312904", blast_s=20)
    farm.terminate("master")
    assert farm.rows("SELECT state, brid FROM bench_probe WHERE id = :id", id=probe["id"]) == [
        {"state": "issued", "brid": probe["brid"]}
    ]
    farm.wait(lambda: is_over(farm, probe), "the end of the job, with no master there")
    farm.resume("master")
    search = farm.wait_for_search(search_id)
    assert steps_of(search["report"]) == STEP
    assert farm.rows("SELECT state, brid FROM bench_probe WHERE id = :id", id=probe["id"]) == [
        {"state": "done", "brid": probe["brid"]}
    ]
    assert_nothing_was_cancelled(farm)


def test_killed_lab_worker_attaches_to_the_blast_it_started(farm: ReplayFarm) -> None:
    search_id, probe = search_until_blast(farm, "r312902", "r312904", blast_s=4)
    farm.kill("lab")
    farm.resume("lab")
    assert steps_of(farm.wait_for_search(search_id)["report"]) == STEP
    assert len([e for e in farm.events(probe["token"]) if e["event"] == "started"]) == 1


def test_killed_builder_worker_builds_again(farm: ReplayFarm) -> None:
    search_id = farm.begin_search("r312901", "r312904")
    compiling = "SELECT count(*) FROM steps WHERE name = 'Label the image' AND complete_at IS NULL"
    farm.wait(lambda: farm.value(compiling), "a build")
    farm.kill("builder")
    farm.resume("builder")
    assert steps_of(farm.wait_for_search(search_id)["report"]) == STEP
    assert farm.value("SELECT count(*) FROM bench_image WHERE state <> 'built'") == 0


def test_what_ran_is_put_back_when_a_start_broke_off_before_that(farm: ReplayFarm) -> None:
    search_id, _probe = search_until_blast(farm, "r312400", "r312410", blast_s=6)
    farm.kill("master")
    # As Buildbot leaves it when the database hangs up while it tidies up.
    farm.change("UPDATE masters SET active = 0")
    farm.resume("master")
    farm.wait_for_search(search_id)
    wait_until_idle(farm)
    going_on = "SELECT count(*) FROM builds WHERE complete_at IS NULL"
    farm.wait(lambda: farm.value(going_on) == 0, "the end of all builds")
    assert_whole(farm)


def test_cancelled_search_leaves_the_lab_at_once(farm: ReplayFarm) -> None:
    search_id, probe = search_until_blast(farm, "r312300", "r312310", blast_s=200)
    done = farm.bisect("--cancel", str(search_id))
    assert done.returncode == 0, done.stderr
    assert farm.wait_for_search(search_id)["state"] == "cancelled"
    farm.wait(lambda: farm.events(probe["token"])[-1]["event"] == "failed", "the job's end")
    assert "cancelled" in farm.events(probe["token"])[-1]["reason"]
    assert farm.bisect("--follow", str(search_id)).returncode == 3
    assert_whole(farm)
    # The cancelled probe alone got less than it asked for: from here on it is left out.
    farm.change("UPDATE bench_probe SET iterations = 0, state = 'done' WHERE state = 'cancelled'")


def test_nothing_was_lost_or_repeated_by_all_that(farm: ReplayFarm) -> None:
    assert_each_iteration_is_there_once(farm)
    assert_each_probe_got_what_it_asked_for(farm)
    assert_whole(farm)
