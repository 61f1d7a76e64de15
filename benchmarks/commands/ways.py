"""The ways to search a planted history, each by its real command.

Each way measures the ends itself, and these runs count.
"""

import json
import math
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.commands.repository import PlantedRepository, git
from benchmarks.commands.threshold import measured, speed

ROOT = Path(__file__).parents[2]
_GRACE_S = 10.0
BLOCKS_COUNTED = 200  # a run under valgrind takes fifty times as long as one without


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What a way said: the position of the commit, or None and why; what it cost.

    `runs` are those of the program, `most_runs` those of the revision that had most, where that is
    known; `revisions` how many were measured.
    """

    named: int | None
    said: str
    runs: int
    revisions: int
    most_runs: int
    wall_s: float


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A history to search, a fresh directory to do it in, and when a person gives up."""

    repository: PlantedRepository
    home: Path
    patience_s: float


def bisect_run(ground: Ground, *, runs: int, by_hyperfine: bool = False) -> Searched:
    """`git bisect run` with a threshold halfway between the ends, by the mean of so many runs."""

    def search(clone: Path, script: list[str]) -> str:
        git(clone, "bisect", "start", ground.repository.shas[-1], ground.repository.shas[0])
        _run(["git", "bisect", "run", *script], clone, ground.patience_s)
        done = git(clone, "bisect", "log")
        return git(clone, "rev-parse", "refs/bisect/bad") if "# first bad commit" in done else ""

    return _by_threshold(ground, search, runs=runs, ends=runs, by_hyperfine=by_hyperfine)


def bayesect(ground: Ground, program: Path, *, ends: int = 5) -> Searched:
    """`git bayesect run` to its own 95 %, a run for each look; the ends have some each."""

    def search(clone: Path, script: list[str]) -> str:
        old, new = ground.repository.shas[0], ground.repository.shas[-1]
        _run([str(program), "start", "--old", old, "--new", new], clone, ground.patience_s)
        said = _run([str(program), "run", *script], clone, ground.patience_s)
        _, found, rest = said.partition("Bisection converged to ")
        return git(clone, "rev-parse", rest.split()[0]) if found else ""

    return _by_threshold(ground, search, runs=1, ends=ends, by_hyperfine=False)


def _by_threshold(
    ground: Ground,
    search: Callable[[Path, list[str]], str],
    *,
    runs: int,
    ends: int,
    by_hyperfine: bool,
) -> Searched:
    began_s = time.monotonic()
    old, new = (
        measured(ground.repository.program(end), ends, by_hyperfine=by_hyperfine) for end in (0, -1)
    )
    log = ground.home / "runs.log"
    log.touch()
    found, said = "", "the ends do not differ"
    if new < old:
        options = [f"--least={(old + new) / 2!r}", f"--kept={ground.repository.kept}"]
        script = [*_module("benchmarks.commands.threshold"), *options, f"--log={log}"]
        script += [f"--runs={runs}", *(["--hyperfine"] if by_hyperfine else [])]
        clone = ground.repository.clone(ground.home / "clone")
        try:
            found, said = search(clone, script), ""
        except subprocess.TimeoutExpired:
            said = f"no answer in {ground.patience_s:.0f} s"
    looks = [int(line) for line in log.read_text(encoding="ascii").splitlines()]
    return Searched(
        named=_position(ground, found),
        said=found or said,
        runs=2 * ends + sum(looks),
        revisions=0,
        most_runs=0,
        wall_s=time.monotonic() - began_s,
    )


def ours(
    ground: Ground,
    *,
    value: str = "last-number",
    options: Sequence[str] = (),
    relinked: bool = False,
) -> Searched:
    """`bench-bisect --local`, with nothing told but what is built, run and read.

    Where it is `relinked`, the build heeds BENCH_IMAGE.
    """
    began_s = time.monotonic()
    clone = ground.repository.clone(ground.home / "clone")
    build = [*_module("benchmarks.commands.kept_build"), str(ground.repository.kept)]
    build += ["--relinked"] if relinked else []
    run = "./bench" if value == "last-number" else f"./bench {BLOCKS_COUNTED}"
    command = [
        *(sys.executable, "-m", "buildbot_bench.cli.bisect", "--local"),
        *(ground.repository.shas[0], ground.repository.shas[-1], "--json"),
        *(f"--build={shlex.join(build)}", "--artefact=bench", f"--run={run}", f"--value={value}"),
        *options,
    ]
    try:
        told, said = _run(command, clone, ground.patience_s), ""
    except subprocess.TimeoutExpired:
        told, said = "", f"no answer in {ground.patience_s:.0f} s"
    named, kind = _told(ground, told)
    counts = _counts(clone / ".git" / "bench" / "evidence.sqlite")
    return Searched(
        named=named,
        said=said or kind,
        runs=sum(counts),
        revisions=len(counts),
        most_runs=max(counts, default=0),
        wall_s=time.monotonic() - began_s,
    )


def _told(ground: Ground, text: str) -> tuple[int | None, str]:
    """The commit that a report names, and the report's kind; several commits are none."""
    if not text:
        return None, "nothing was said"
    report = json.loads(text)
    named = [_position(ground, step["new"]["sha"]) for step in report["steps"]]
    return (named[0] if len(named) == 1 else None), f"{report['kind']}, {named}"


def _counts(evidence: Path) -> list[int]:
    """How often each revision ran."""
    if not evidence.exists():
        return []
    with closing(sqlite3.connect(evidence)) as db:
        rows = db.execute(
            "SELECT count(*) FROM iterations JOIN images ON images.id = image_id GROUP BY sha"
        )
        return [int(count) for (count,) in rows]


def _position(ground: Ground, sha: str) -> int | None:
    return ground.repository.shas.index(sha) if sha else None


def _module(name: str) -> list[str]:
    """A module of this checkout, wherever it is run."""
    return ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", name]


def _run(command: Sequence[str], place: Path, patience_s: float) -> str:
    """What a command prints; it and all that it started are ended when patience is.

    Raises:
        subprocess.TimeoutExpired: It had not ended by then.
    """
    own: Mapping[str, str] = {"GIT_CONFIG_GLOBAL": os.devnull}
    with subprocess.Popen(  # noqa: S603 - commands of ours
        command,
        cwd=place,
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            return running.communicate(timeout=patience_s)[0]
        finally:
            _end(running)


def _end(running: subprocess.Popen[str]) -> None:
    """End what still runs in a command's session: it was given up, or the benchmark is ended."""
    if running.poll() is not None:
        return
    os.killpg(running.pid, signal.SIGTERM)
    try:
        running.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)


def noise(repository: PlantedRepository, runs: int = 12) -> float:
    """The spread of single runs of the old end, as a share of their mean."""
    values = [speed(repository.program(0)) for _ in range(runs)]
    mean = fmean(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (runs - 1)) / mean
