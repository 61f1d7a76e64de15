"""The share of reports that name the right function: the demo's culprit, a virtual machine's.

`python -m benchmarks.why [--runs 20]`. Each run boots the culprit and the commit before it, takes
fresh captures and fresh levels, and composes what the mail says of them. It needs a C compiler and
some minutes of one processor; without QEMU, virtual machines are left out.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.report.why import Capture, Captures, Why, explain
from buildbot_bench.core.sample import (
    INSTRUCTIONS_PER_PACKET,
    PACKETS_PER_CPU_SECOND,
    Metric,
)
from buildbot_bench.demo.cli import SLOWER, make_vm_history
from buildbot_bench.demo.generated_history import CULPRIT, make_embedded_history
from buildbot_bench.lab.driver import Driver, Dut
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, QemuSettings

OUT = Path(__file__).parent / "out"
RUNS = 20
_BOOTS = 3  # of a side, for its level
_ATTEMPTS = 5
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A planted commit, the testbed that samples it, and the functions that it slows down."""

    name: str
    history: Callable[[Path], dict[str, str]]
    culprit: str
    right: frozenset[str]
    metric: Metric
    driver: Callable[[Path], Driver]
    program: str


CASES = (
    Case(
        name="embedded",
        history=make_embedded_history,
        culprit=CULPRIT,
        right=frozenset({"layer_queue", "netif_receive"}),
        metric=PACKETS_PER_CPU_SECOND,
        driver=partial(EmbeddedDriver, EmbeddedSettings()),
        program="nm",
    ),
    Case(
        name="vm",
        history=make_vm_history,
        culprit=SLOWER,
        right=frozenset({"mbuf_get"}),
        metric=INSTRUCTIONS_PER_PACKET,
        driver=partial(QemuDriver, QemuSettings(metric=INSTRUCTIONS)),
        program=QemuSettings().program,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one run named: the functions within which the commit is likely why, and the largest.

    `explained` is the part of the change that the table explains, None without a table.
    """

    named: tuple[str, ...]
    largest: str
    explained: float | None
    missing: str
    right: bool


def main(argv: Sequence[str] = ()) -> int:
    """Run, print a table, keep the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks why", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append")
    options = parser.parse_args(argv)
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        if shutil.which(case.program) is None:
            print(f"{case.name}: there is no {case.program}")
            continue
        with tempfile.TemporaryDirectory() as name:
            found = run_case(case, Path(name), options.runs)
        OUT.mkdir(exist_ok=True)
        figures = json.dumps([asdict(one) for one in found], indent=1)
        (OUT / f"why-{case.name}.json").write_text(figures + "\n", encoding="utf-8")
        show(case, found)
    return 0


def run_case(case: Case, home: Path, runs: int) -> list[Outcome]:
    """Build both sides once, capture and measure them afresh in each run."""
    source = home / "history.git"
    shas = case.history(source)
    labels = list(shas)
    before = labels[labels.index(case.culprit) - 1]
    kernels = [_build(home, source, shas[label]) for label in (before, case.culprit)]
    # As the farm reads it.
    plain = ("diff-tree", "-r", "-p", "-U0", "--root", "--no-renames", "--no-commit-id")
    diff = _git(source, *plain, "--no-color", f"{shas[before]}", f"{shas[case.culprit]}")
    found = []
    for number in range(1, runs + 1):
        found.append(_run(case, home, kernels, diff))
        print(f"{case.name} {number}: {found[-1]}", file=sys.stderr, flush=True)
    return found


def _run(case: Case, home: Path, kernels: Sequence[Path], diff: str) -> Outcome:
    try:
        captures = [_capture(case, home, kernel) for kernel in kernels]
        old, new = (_level(case, home, kernel) for kernel in kernels)
    except BenchError as error:
        return Outcome(named=(), largest="", explained=None, missing=str(error), right=False)
    known = Captures(
        counter=captures[0].event,
        old=Capture(label="before", profile=captures[0]),
        new=Capture(label=case.culprit, profile=captures[1]),
        diff=diff,
    )
    return judged(case.right, explain(known, metric=case.metric, levels=(old, new)))


def judged(right: frozenset[str], why: Why) -> Outcome:
    """Whether what a report names first, as likely why, is a function that the commit slowed."""
    named = tuple(name for place in why.places or () for name in place.changed)
    table = why.per_packet
    return Outcome(
        named=named,
        largest=table.functions[0].name if table and table.functions else "",
        explained=table.explained if table else None,
        missing=why.missing,
        right=bool(named) and named[0] in right,
    )


def _capture(case: Case, home: Path, kernel: Path) -> Profile:
    return _as_a_lab_does(lambda: _captured(case, home, kernel))


def _as_a_lab_does(boot: Callable[[], T]) -> T:
    """A boot that fails is made again: on a crowded machine some do.

    Raises:
        BenchError: When each failed.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return boot()
        except BenchError as error:
            print(f"again: {error}", file=sys.stderr)
    return boot()


def _captured(case: Case, home: Path, kernel: Path) -> Profile:
    with Dut(case.driver(home / "lab"), kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        return dut.capture("forwarding")


def _level(case: Case, home: Path, kernel: Path) -> float:
    boots = (_as_a_lab_does(lambda: _measured(case, home, kernel)) for _ in range(_BOOTS))
    return statistics.fmean(boots)


def _measured(case: Case, home: Path, kernel: Path) -> float:
    with Dut(case.driver(home / "lab"), kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        return dut.blast("forwarding").values[case.metric.unit]


def _build(home: Path, source: Path, sha: str) -> Path:
    tree = home / sha
    _git(home, "clone", "-q", str(source), str(tree))
    _git(tree, "checkout", "-q", sha)
    subprocess.run(["make", "-s", "kernel"], cwd=tree, check=True)  # noqa: S607 - make from PATH
    return tree / "kernel"


def _git(place: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - a list, no shell
        ["git", *arguments],  # noqa: S607 - git from PATH
        cwd=place,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def show(case: Case, found: Sequence[Outcome]) -> None:
    """How many were right, and what the others named."""
    right = sum(one.right for one in found)
    print(f"{case.name}: {case.culprit}, the named function is right in {right} of {len(found)}")
    explained = [one.explained for one in found if one.explained is not None]
    if explained:
        print(f"  explained: {min(explained):.0%} to {max(explained):.0%} of the change")
    for largest, times in Counter(one.largest for one in found).most_common():
        print(f"  {times:3d} x largest change of cost: {largest or 'none listed'}")
    for names, times in Counter(one.named for one in found).most_common():
        print(f"  {times:3d} x named as likely why: {', '.join(names) or 'nothing'}")
    for missing, times in Counter(one.missing for one in found if one.missing).most_common():
        print(f"  {times:3d} x {missing}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
