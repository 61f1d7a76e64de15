"""The rows of `make test-freebsd` that boot: forwarding, and the scatter of counts."""

import math
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.freebsd.builds import IMAGES
from benchmarks.freebsd.showing import run_shown, say
from benchmarks.freebsd.table import Figure, at_most
from benchmarks.freebsd.workshop import START, Workshop
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.wire import Measured, parse_events

SPREAD, BOOT_S = 0.0003, 30.0
BOOTS = 5
TESTBEDS = """\
[testbeds.em]
driver = "qemu"
system = "freebsd"
epoch = "1"

[testbeds.vtnet]
driver = "qemu"
system = "freebsd"
nic = "vtnet"
epoch = "1"

[testbeds.freebsd-exact]
driver = "qemu"
system = "freebsd"
metric = "instructions/packet"
epoch = "1"

[testbeds.exact-vtnet]
driver = "qemu"
system = "freebsd"
nic = "vtnet"
metric = "instructions/packet"
epoch = "1"
"""
_FORWARDED = (("em", "forwarding"), ("em", "forwarding6"), ("vtnet", "forwarding"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Boots:
    """What some boots gave, in the testbed's unit, and what each took in seconds."""

    values: tuple[float, ...]
    seconds: tuple[float, ...]
    unit: str


def boot(workshop: Workshop) -> Iterator[Figure]:
    """It boots and forwards: by both NICs and both protocols, and linked in another order."""
    workshop.go(START)
    archive = workshop.build("start").archive
    for testbed, workload in _FORWARDED:
        taken = measure(workshop, archive, testbed=testbed, workload=workload, boots=1)
        yield Figure(
            row="boot",
            what=f"{workload} by {testbed}",
            wanted="it forwards",
            seen=f"{taken.values[0]:.0f} {taken.unit}, {taken.seconds[0]:.0f} s",
            is_met=True,
        )
    for image in IMAGES:
        relinked = workshop.build(f"image-{image}", image=image).archive
        taken = measure(workshop, relinked, testbed="em", workload="forwarding", boots=1)
        yield Figure(
            row="boot",
            what=f"image {image} by em",
            wanted="it forwards",
            seen=f"{taken.values[0]:.0f} {taken.unit}, {taken.seconds[0]:.0f} s",
            is_met=True,
        )


def exact(workshop: Workshop) -> Iterator[Figure]:
    """Boots of one image count alike, and each is quick."""
    workshop.go(START)
    archive = workshop.build("start").archive
    for nic, testbed in (("em", "freebsd-exact"), ("vtnet", "exact-vtnet")):
        taken = measure(workshop, archive, testbed=testbed, workload="forwarding", boots=BOOTS)
        spread = stdev(map(math.log, taken.values))
        yield Figure(
            row="exact",
            what=f"{nic}: spread of {BOOTS} boots",
            wanted=f"≤ {SPREAD:.2%}",
            seen=f"{spread:.4%} of {fmean(taken.values):.2f} {taken.unit}",
            is_met=spread <= SPREAD,
        )
        yield at_most("exact", f"{nic}: a boot with its count", BOOT_S, max(taken.seconds[1:]))


def measure(workshop: Workshop, archive: Path, *, testbed: str, workload: str, boots: int) -> Boots:
    """Have `bench-lab` boot an archive; InfraError, with its last words, when one gives nothing."""
    testbeds = workshop.place / "testbeds.toml"
    testbeds.write_text(TESTBEDS, encoding="utf-8")
    words = [sys.executable, "-m", "buildbot_bench.lab.cli", "run", "--json"]
    words += [f"--testbeds={testbeds}", f"--state={workshop.place / 'lab'}", f"--testbed={testbed}"]
    words += [f"--artefact={archive}", f"--workload={workload}", f"--iterations={boots}"]
    say(f"… boots {archive.name} on {testbed}, {workload}: {boots}")
    begun_s = time.time()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        status, said = run_shown(words, out=out)
        out.seek(0)
        told = out.read().splitlines()
    taken = [one for one in parse_events(told) if isinstance(one, Measured)]
    failed = next((one.failure for one in taken if one.failure), "")
    if status != 0 or failed or not taken:
        last = failed or next(iter(reversed((*told, *said.splitlines()))), "")
        raise InfraError(f"{testbed}, {workload}: status {status}: {last}")
    ends = [begun_s, *(one.at_s for one in taken)]
    unit = next(iter(taken[0].values))
    return Boots(
        values=tuple(one.values[unit] for one in taken),
        seconds=tuple(after - before for before, after in pairwise(ends)),
        unit=unit,
    )
