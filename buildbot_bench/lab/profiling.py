"""The course of a capture (boot, verify, sample), on boots apart from all measurements.

Sampling costs the DUT 7 to 30 % of its throughput (netbenches' own runs with and without pmcstat).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.profile import (
    format_folded,
    require_traffic,
    tidy_packets,
    tidy_places,
)
from buildbot_bench.core.wire import Event, Failed, Finished, Phase, Profiled
from buildbot_bench.lab.dut import Dut
from buildbot_bench.lab.runner import Budget, Request, failed, tail


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
