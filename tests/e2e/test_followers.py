"""Whoever follows a lab job dies; the job lives, and the farm goes on with that same job."""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_each_probe_got_what_it_asked_for,
    assert_nothing_was_cancelled,
    assert_whole,
    steps_of,
    wait_until_idle,
)
from tests.e2e.lab_processes import followers
from tests.e2e.replay_farm import DEADLINE_S, ReplayFarm, Row, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ITERATIONS = 5
# Boots of the first measurement are so long that a slow machine hits it, too.
SLOW_S, QUICK_S = 6.0, 1.5
RECORDED = "SELECT count(*) FROM bench_iteration"


@pytest.fixture(scope="module")
def farm(farms) -> ReplayFarm:
    return farms(Shape(blast_s=SLOW_S, iterations=ITERATIONS))


def kill_follower(farm: ReplayFarm, *, spared: int | None = None) -> list[str]:
    """End the command that prints the job which goes on now, but for `spared`; its command line.

    A master that comes back starts another follower, and the one before ends of itself: what was
    found may be gone before it can be killed.
    """
    pid, words = farm.wait(lambda: _killed(farm, spared), "a follower that can be killed")
    farm.wait(lambda: pid not in followers(farm), "its end")
    return words


def _killed(farm: ReplayFarm, spared: int | None) -> tuple[int, list[str]] | None:
    for pid, words in followers(farm).items():
        if pid == spared:
            continue
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return pid, words
    return None


def probes(farm: ReplayFarm) -> list[Row]:
    return farm.rows("SELECT state, iterations FROM bench_probe")


def assert_nothing_was_doubled(farm: ReplayFarm) -> None:
    wait_until_idle(farm)
    assert_each_iteration_is_there_once(farm)
    assert_each_probe_got_what_it_asked_for(farm)
    assert_nothing_was_cancelled(farm)
    assert_whole(farm)


def test_followers_killed_in_the_midst_of_a_measurement_cost_no_boot(farm: ReplayFarm) -> None:
    for recorded in (0, 1, 3):
        farm.wait(lambda n=recorded: farm.value(RECORDED) >= n, f"{recorded} iterations")
        kill_follower(farm)
    farm.let_blasts_last(QUICK_S)
    assert_nothing_was_doubled(farm)
    assert probes(farm) == [{"state": "done", "iterations": ITERATIONS}]
    assert farm.boots() == farm.value(RECORDED) == ITERATIONS


def test_a_second_follower_and_a_dead_master_cost_no_boot(farm: ReplayFarm) -> None:
    known = farm.value(RECORDED)
    search_id = farm.begin_search("r312903", "r312904")
    words = kill_follower(farm)
    beside = subprocess.Popen(
        words,
        cwd=farm.directory / "lab",
        env=os.environ | farm.local.workers["lab"].env,
        stdout=subprocess.DEVNULL,
    )
    farm.wait(lambda: farm.value(RECORDED) > known, "an iteration of the search")
    farm.kill("master")
    farm.resume("master")
    kill_follower(farm, spared=beside.pid)
    assert steps_of(farm.wait_for_search(search_id)["report"]) == [("r312903", "r312904", 1)]
    assert beside.wait(DEADLINE_S) == 0
    assert_nothing_was_doubled(farm)


def test_a_follower_and_its_worker_killed_cost_no_boot(farm: ReplayFarm) -> None:
    search_id = farm.begin_search("r312902", "r312904")
    kill_follower(farm)
    farm.wait(lambda: followers(farm), "another follower")
    farm.kill("lab")
    for pid in followers(farm):  # it may have met its broken pipe, or the end of its job
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    farm.resume("lab")
    assert steps_of(farm.wait_for_search(search_id)["report"]) == [("r312903", "r312904", 1)]
    assert_nothing_was_doubled(farm)
