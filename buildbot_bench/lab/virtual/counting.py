"""The packet rate of a virtual DUT."""

import statistics

from buildbot_bench.lab.driver import Blast
from buildbot_bench.lab.drivers.child import beside
from buildbot_bench.lab.virtual.frames import PACKETS
from buildbot_bench.lab.virtual.machine import VirtualMachine
from buildbot_bench.lab.virtual.settings import PPS

_WARM_UP = 0.1  # of the bursts


def measure_pps(machine: VirtualMachine, bursts: int) -> Blast:
    """Packets per second, by the first quartile of the time that a burst takes.

    DUT and generator share one processor, as that is when they hinder each other least. A burst
    takes about 0.2 ms, less than a time slice: what other programs take away makes some bursts
    long, and leaves that quartile where it is. (Five boots on two processors with a load of 4.5:
    these figures had a standard deviation of 0.9 %, means of 6 %.)
    """
    with beside(machine.cpu):
        for _ in range(max(1, int(_WARM_UP * bursts))):
            machine.wires.send_burst()
        took_s = [machine.wires.send_burst() for _ in range(max(4, bursts))]
    quartiles = statistics.quantiles(took_s, n=4)
    quartiles_us = ", ".join(f"{1e6 * quartile:.1f}" for quartile in quartiles)
    log = f"{len(took_s)} bursts of {PACKETS} packets; quartiles of their time: {quartiles_us} us\n"
    return Blast(values={PPS: PACKETS / quartiles[0]}, log=log)
