"""`bench-lab check --aa`: one kernel as two variants on a testbed, booted in turns."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.wire import Event, Failed, FailureKind, Measured
from buildbot_bench.lab.background import budget_of, request_of
from buildbot_bench.lab.command.machine import noise_causes, ticks
from buildbot_bench.lab.driver import Driver, Dut, Request, measure
from buildbot_bench.lab.tables import LabTestbed
from buildbot_bench.programs import answer_of

_ELSEWHERE = frozenset({"ssh", "replay"})
"""Drivers whose DUT is another machine than this one: what runs here does not disturb it."""
_JUDGE = "buildbot_bench.local.against_itself"


def add_itself(check: argparse.ArgumentParser) -> None:
    """Add what `check` takes to measure."""
    check.add_argument(
        "--aa",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="boot this kernel as two variants, and say what the testbed can tell at what cost; "
        "several files are builds of one revision in other link orders",
    )
    check.add_argument("--workload", metavar="W", help="what --aa measures (default: the only one)")
    check.add_argument(
        *("-n", "--iterations"),
        type=int,
        default=5,
        metavar="N",
        help="how often --aa boots each variant (default: 5)",
    )


def check_itself(
    options: argparse.Namespace, testbed: LabTestbed, driver: Driver, state: Path
) -> str:
    """Measure the kernel against itself, on a testbed that is locked; return what that says."""
    requests = _requests(options, testbed, driver, state)
    before = ticks()
    driver.prepare(requests[0].workload)
    boots = _boots(requests, options.aa, driver, testbed)
    here = testbed.common.driver not in _ELSEWHERE
    first = boots[0][0]
    unit = next(iter(first.values))
    return _judged(
        {
            "title": f"{requests[0].workload} on {testbed.name}, {options.aa[0].name}",
            "unit": unit,
            "values": [[one.values[unit] for one in own] for own in boots],
            "seconds": [one.duration_s for own in boots for one in own],
            "facts": sorted(driver.facts() | first.facts),
            "causes": [asdict(cause) for cause in noise_causes(before)] if here else [],
            "here": here,
        }
    )


def _requests(
    options: argparse.Namespace, testbed: LabTestbed, driver: Driver, state: Path
) -> list[Request]:
    """One of each image: the first alone stands for both variants."""
    there = driver.workloads()
    if options.workload is None and len(there) != 1:
        raise UsageError(
            f"testbed {testbed.name} has {len(there)} workloads",
            hint=f"name one by --workload: {', '.join(there)}",
        )
    each = options.iterations * (1 if len(options.aa) > 1 else 2)
    asked: dict[str, Any] = {
        "job": "aa",
        "digest": None,
        "sysctl": [],
        "sample": "",
        "profile": False,
    }
    asked |= {"workload": options.workload or there[0], "iterations": each}
    given = [argparse.Namespace(**asked, artefact=path) for path in options.aa]
    requests = [request_of(one, testbed, state) for one in given]
    if len({one.digest for one in requests}) < len(requests):
        raise UsageError(
            "two of the files are the same kernel", hint="name each build once; one is enough"
        )
    return requests


def _boots(
    requests: Sequence[Request], images: Sequence[Path], driver: Driver, testbed: LabTestbed
) -> list[list[Measured]]:
    """The good boots of each image; the order is reversed each round, as comparisons do."""
    events: list[list[Event]] = [[] for _ in requests]
    for number in range(requests[0].iterations):
        for place in sorted(range(len(requests)), reverse=number % 2 == 1):
            request = replace(requests[place], iterations=number + 1)
            own = events[place]
            dut = Dut(driver, images[place], request.digest)
            last = measure(request, dut, tuple(own), own.append, budget_of(testbed))
            if isinstance(last, Failed):
                is_kernel = last.kind is FailureKind.UNTESTABLE
                raise (UntestableRevision if is_kernel else InfraError)(last.reason)
            done = _good(own)[-1]
            value = ", ".join(f"{value:,.6g} {unit}" for unit, value in done.values.items())
            where = f"{number + 1} of {requests[place].iterations} of {images[place].name}"
            sys.stderr.write(f"bench-lab: {where}: {value}\n")
    return [_good(own) for own in events]


def _good(events: Sequence[Event]) -> list[Measured]:
    return [one for one in events if isinstance(one, Measured) and one.failure is None]


def _judged(told: dict[str, Any]) -> str:
    """What the values say, by a process of its own: a lab controller may lack numpy."""
    words = [sys.executable, "-P", "-m", _JUDGE]
    done = answer_of(words, deadline_s=None, given=json.dumps(told))
    if done.returncode:
        raise InfraError(
            f"the values cannot be judged here: {done.stderr.strip().rpartition(chr(10))[2]}",
            hint="install buildbot-bench with what it depends on: pip install buildbot-bench",
        )
    return done.stdout
