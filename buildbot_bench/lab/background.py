"""The runner's process of one job, from its start to the job's last event."""

import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.profile.formats import format_folded
from buildbot_bench.core.profile.model import require_traffic, tidy_packets, tidy_places
from buildbot_bench.core.shared_fields import shared
from buildbot_bench.core.wire import Event, Failed, Finished, Phase, Profiled, Started
from buildbot_bench.lab.driver import Dealing, Driver, Metering
from buildbot_bench.lab.dut import Dut
from buildbot_bench.lab.job import Job
from buildbot_bench.lab.locks import testbed_lock
from buildbot_bench.lab.runner import Budget, Request, failed, measure, tail
from buildbot_bench.lab.testbeds import LabTestbed, make_driver


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
