"""A job of the lab: the request that arguments make, and the runner's process of the job."""

import argparse
import re
import secrets
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision, UsageError
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.profile.formats import format_folded
from buildbot_bench.core.profile.model import require_traffic, tidy_packets, tidy_places
from buildbot_bench.core.wire import Event, Failed, Finished, Phase, Profiled, Started
from buildbot_bench.lab.driver import (
    Budget,
    Dealing,
    Driver,
    Dut,
    Metering,
    Profiling,
    Request,
    failed,
    measure,
    tail,
)
from buildbot_bench.lab.files import sha256, testbed_lock
from buildbot_bench.lab.job import Job
from buildbot_bench.lab.tables import LabTestbed, make_driver

_DIGEST = re.compile(r"[0-9a-f]{64}")
# A name has a dot in it, which no variable that a program heeds has.
_TUNABLE = re.compile(r"[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_%-]+)+=[A-Za-z0-9_.,:/-]{1,100}", re.ASCII)
_SAMPLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_MOST_ITERATIONS = 1000  # chosen: days of boots; more is a slip of the pen


def add_arguments(run: argparse.ArgumentParser) -> None:
    """What `run` and `profile` take, beside the places that every command takes."""
    run.add_argument("--testbed", required=True, metavar="T")
    run.add_argument("--artefact", required=True, type=Path, metavar="FILE", help="the kernel")
    run.add_argument("--digest", metavar="SHA256", help="the artefact's (default: as it is now)")
    run.add_argument("--workload", required=True, metavar="W")
    run.add_argument(
        "--job",
        metavar="ID",
        help="the job's name: the same name attaches (default: a new one, which is printed)",
    )
    run.add_argument(
        "--sysctl",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a tunable that is set at each boot; may be given several times",
    )
    run.add_argument(
        "--sample",
        default="",
        metavar="NAME",
        help="what it is measured for, if several jobs are: recorded boots are dealt anew to each",
    )
    run.add_argument("--json", action="store_true", help="print events as JSON, also on a terminal")


def add_iterations(run: argparse.ArgumentParser) -> None:
    """What `run` alone takes."""
    run.add_argument(
        *("-n", "--iterations"),
        required=True,
        type=int,
        metavar="N",
        help="how often it is booted and measured",
    )


def new_job_name() -> str:
    """A name that sorts by time and that nobody else has."""
    return f"hand-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def request_of(options: argparse.Namespace, testbed: LabTestbed, state: Path) -> Request:
    """The request that the arguments make."""
    digest = options.digest or _digest_of(options.artefact)
    if not _DIGEST.fullmatch(digest):
        raise UsageError(
            f"--digest {quoted(digest)} is no SHA-256", hint="give 64 hexadecimal digits"
        )
    if not 1 <= options.iterations <= _MOST_ITERATIONS:
        raise UsageError(f"--iterations {options.iterations} is not in 1..{_MOST_ITERATIONS}")
    for setting in options.sysctl:
        if not _TUNABLE.fullmatch(setting):
            raise UsageError(
                f"--sysctl {quoted(setting, columns=120)} is no tunable", hint="write NAME=VALUE"
            )
    if options.sample and not _SAMPLE.fullmatch(options.sample):
        raise UsageError(
            f"--sample {quoted(options.sample)} is no name",
            hint="use letters, digits, '.', '_' and '-', at most 100 of them",
        )
    driver = make_driver(testbed, home_of(state, testbed.name))
    workloads = driver.workloads()
    if options.workload not in workloads:
        raise UsageError(
            f"testbed {testbed.name} has no workload {quoted(options.workload)}",
            hint=f"it has {', '.join(workloads) or 'none'}",
        )
    if options.profile and not (isinstance(driver, Profiling) and driver.counter()):
        raise UsageError(
            f"testbed {testbed.name} takes no captures",
            hint=f"write [testbeds.{testbed.name}.profile], if its driver is ssh",
        )
    return Request(
        job=options.job,
        testbed=testbed.name,
        workload=options.workload,
        digest=digest,
        iterations=options.iterations,
        tunables=tuple(options.sysctl),
        profile=options.profile,
        sample=options.sample,
    )


def _digest_of(artefact: Path) -> str:
    try:
        return sha256(artefact)
    except OSError as error:
        raise InfraError(f"cannot read the artefact: {error}") from error


def home_of(state: Path, testbed: str) -> Path:
    """Where a testbed's lock and its driver's files are."""
    return state / "testbeds" / testbed


def run_job(job: Job, request: Request, testbed: LabTestbed, state: Path) -> None:
    """Measure, even when the asker dies; the last event says how it ended.

    SIGTERM ends the process in an orderly way and without a last event: the job can be taken up.
    """
    signal.signal(signal.SIGTERM, _leave)
    try:
        last = _measure_alone(job, request, testbed, home_of(state, testbed.name))
    except BenchError as error:
        last = failed(error)
    except Exception as error:  # noqa: BLE001 - a defect of ours must end the job, not hang it
        last = failed(InfraError(f"the runner broke: {error!r}"), tail(traceback.format_exc()))
    job.events.append(last)
    job.artefact.unlink(missing_ok=True)


def _measure_alone(job: Job, request: Request, testbed: LabTestbed, home: Path) -> Event:
    def tell(text: str) -> None:
        job.events.append(Phase(text=text, at_s=time.time()))

    with testbed_lock(home, job.name, deadline_s=testbed.common.wait_s, tell=tell):
        driver = make_driver(testbed, home, tell)
        try:
            return _measure_with(driver, job, request, testbed)
        finally:
            driver.shutdown()


def _measure_with(driver: Driver, job: Job, request: Request, testbed: LabTestbed) -> Event:
    driver.prepare(request.workload)
    if request.tunables:
        driver.tune(request.tunables)
    if request.sample and isinstance(driver, Dealing):
        driver.deal(request.sample)
    recorded = job.events.read()
    if not any(isinstance(event, Started) for event in recorded):
        job.events.append(
            Started(
                **shared(Started, request),
                epoch=testbed.common.epoch,
                facts=driver.facts()
                | ({"tunables": " ".join(request.tunables)} if request.tunables else {}),
                metrics=driver.metrics() if isinstance(driver, Metering) else (),
            )
        )
    work = profile if request.profile else measure
    return work(
        request,
        Dut(driver, job.artefact, request.digest),
        recorded,
        job.events.append,
        budget_of(testbed),
    )


def budget_of(testbed: LabTestbed) -> Budget:
    """Return how many failures in a row a job on a testbed bears."""
    common = testbed.common
    return Budget(
        kernel_faults=common.kernel_faults,
        lab_faults=common.lab_faults,
        pause_s=common.retry_pause_s,
    )


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


# Sampling costs the DUT 7 to 30 % of its throughput (netbenches' own runs with and without
# pmcstat).
def profile(
    request: Request,
    dut: Dut,
    recorded: Sequence[Event],
    emit: Callable[[Event], None],
    budget: Budget,
) -> Finished | Failed:
    """Take one capture that shows the traffic, each attempt on a boot of its own.

    Emits all but the last event, which it returns. A capture that is recorded already is enough.
    """
    if any(isinstance(event, Profiled) for event in recorded):
        return Finished(iterations=0)
    attempts = max(1, budget.lab_faults)
    for attempt in range(1, attempts + 1):
        emit(Phase(text=f"capture, attempt {attempt} of {attempts}", at_s=time.time()))
        try:
            emit(_capture(request.workload, dut))
        except (UntestableRevision, InfraError) as error:
            last = failed(error, tail(dut.console))
            emit(Phase(text=f"no capture: {error}", at_s=time.time()))
            time.sleep(budget.pause_s)
        else:
            return Finished(iterations=0)
    return last


def _capture(workload: str, dut: Dut) -> Profiled:
    began_s = time.monotonic()
    with dut:
        dut.boot()
        dut.verify()
        taken = dut.capture(workload)
    require_traffic(taken, capture="the capture")
    names = dict.fromkeys(stack.leaf for stack in taken.stacks)
    return Profiled(
        at_s=time.time(),
        duration_s=time.monotonic() - began_s,
        counter=taken.event,
        folded=format_folded(taken.merged()),
        packets=tidy_packets(taken.packets),
        places=tidy_places(taken.places, names),
    )
