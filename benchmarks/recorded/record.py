"""Records runs of `work.c`, one after another: `python -m benchmarks.recorded.record FILE`."""

import argparse
import datetime as dt
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.metric import RunTimes
from buildbot_bench.lab.command.iteration import run_iteration
from buildbot_bench.lab.command.machine import tick_s
from buildbot_bench.lab.command.settings import CPU, CommandWorkload

PROGRAM = Path(__file__).with_name("work.c")
RECORDING = Path(__file__).with_name("busy-machine.json.gz")
_LOAD_EVERY = 100  # runs
_MICROSECONDS = 1e6


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Runs in the order in which they were made; load averages of a minute, one for many runs."""

    about: dict[str, object]
    loads: tuple[float, ...]
    runs: tuple[RunTimes, ...]


def read(path: Path = RECORDING) -> Recording:
    """Read what `main` wrote."""
    told = json.loads(gzip.decompress(path.read_bytes()))
    columns = (told["wall_us"], told["user_us"], told["system_us"])
    return Recording(
        about=told["about"],
        loads=tuple(told["loads"]),
        runs=tuple(
            RunTimes(
                wall_s=wall / _MICROSECONDS,
                user_s=user / _MICROSECONDS,
                system_s=system / _MICROSECONDS,
            )
            for wall, user, system in zip(*columns, strict=True)
        ),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Compile the program, run it as --local does, and write what the clocks say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=2400)
    options = parser.parse_args(argv)
    workload = CommandWorkload(run="./work", value=CPU)
    runs: list[RunTimes] = []
    loads: list[float] = []
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        compiler = ["gcc", "-O2", "-o", f"{place}/work", str(PROGRAM)]
        subprocess.run(compiler, check=True)  # noqa: S603 - a list of our own making
        for number in range(options.runs):
            if number % _LOAD_EVERY == 0:
                loads.append(round(os.getloadavg()[0], 1))
                print(f"{number} runs, load {loads[-1]}", file=sys.stderr, flush=True)
            times = run_iteration(workload, Path(place)).times
            if times is not None:
                runs.append(times)
    about = {
        "program": "work.c, by gcc -O2",
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "took_s": round(time.monotonic() - began_s),
        "machine": f"{os.cpu_count()} virtual processors, {platform.machine()}",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "tick_s": tick_s(),
    }
    told = {
        "about": about,
        "loads": loads,
        "wall_us": [round(one.wall_s * _MICROSECONDS) for one in runs],
        "user_us": [round(one.user_s * _MICROSECONDS) for one in runs],
        "system_us": [round(one.system_s * _MICROSECONDS) for one in runs],
    }
    options.file.write_bytes(gzip.compress(json.dumps(told).encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
