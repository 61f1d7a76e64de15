"""Whoever follows a lab job dies; the job lives, and the farm goes on with that same job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_each_probe_got_what_it_asked_for,
    assert_nothing_was_cancelled,
    assert_whole,
    steps_of,
    wait_until_idle,
)
from tests.e2e.replay_farm import DEADLINE_S, ReplayFarm, Row, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ITERATIONS = 5
# Boots of the first measurement are so long that a slow machine hits it, too.
SLOW_S, QUICK_S = 6.0, 1.5
RECORDED = "SELECT count(*) FROM bench_iteration"


@pytest.fixture(scope="module")
def farm(farms) -> ReplayFarm:
    return farms(Shape(blast_s=SLOW_S, iterations=ITERATIONS))


def followers(farm: ReplayFarm) -> dict[int, list[str]]:
    """The processes of `bench-lab run` that print a job of this farm, and their command lines.

    A job's own process has the same command line; it leads a process group that runner.json names.
    Before it has written that, nobody can tell the two from one another.
    """
    runners = {f"--job={job}": runner_of(farm, job) for job in farm.job_names()}
    jobs = {job: runner for job, runner in runners.items() if runner is not None}
    found: dict[int, list[str]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode().split("\0")[:-1]
            names = jobs.keys() & set(words)
            if names and os.getpgid(int(process.name)) not in {jobs[name] for name in names}:
                found[int(process.name)] = words
    return found


def runner_of(farm: ReplayFarm, job: str) -> int | None:
    with suppress(OSError, ValueError):
        note = (farm.lab_state / "jobs" / job / "runner.json").read_text()
        return int(json.loads(note)["pid"])
    return None


def kill_follower(farm: ReplayFarm) -> list[str]:
    """End the command that prints the job which goes on now; its command line.

    A master that comes back starts another follower, and the one before ends of itself: what was
    found may be gone before it can be killed.
    """
    pid, words = farm.wait(lambda: _killed(farm), "a follower that can be killed")
    farm.wait(lambda: pid not in followers(farm), "its end")
    return words


def _killed(farm: ReplayFarm) -> tuple[int, list[str]] | None:
    for pid, words in followers(farm).items():
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
    kill_follower(farm)
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
