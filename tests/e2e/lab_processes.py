"""The processes that measure or follow a farm's jobs."""

import json
import os
from contextlib import suppress
from pathlib import Path

from tests.e2e.replay_farm import ReplayFarm


def runner_of(farm: ReplayFarm, job: str) -> int | None:
    """The process that measures a job, as far as it has said so."""
    with suppress(OSError, ValueError):
        note = (farm.lab_state / "jobs" / job / "runner.json").read_text()
        return int(json.loads(note)["pid"])
    return None


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
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            names = jobs.keys() & set(words)
            if names and os.getpgid(int(process.name)) not in {jobs[name] for name in names}:
                found[int(process.name)] = words
    return found
