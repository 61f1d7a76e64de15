"""What is counted for a packet, by a machine that the clock wakes while its lab is kept waiting."""

from collections import Counter
from itertools import count as numbers

import pytest

from buildbot_bench.lab.virtual.bursts import PACKETS
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS
from buildbot_bench.lab.virtual.tracers import count

WORK, TICK, HALT = 0x1000, 0x9000, 0xFFFFFFFF80AB12CE
EACH = 3000 * PACKETS


class Asleep:
    """QEMU's monitor, and its wires: every burst is back at once."""

    def send_burst(self) -> float:
        return 0.0

    def command(self, line: str) -> str:
        assert line == "info registers"
        return f"RSP=fffffe0004d6aef0\nRIP={HALT + 1:016x} RFL=00000246 [---Z-P-] CPL=0 HLT=1"


class Machine:
    def __init__(self) -> None:
        self.wires = self.monitor = Asleep()


class Ticking:
    """A tracer whose bursts meet so many ticks, turn by turn."""

    longest = 4

    def __init__(self, *ticks: int) -> None:
        self._ticks = ticks
        self._turn = numbers()

    def start(self) -> None:
        pass

    def clear(self) -> None:
        pass

    def read(self) -> Counter[int]:
        ticks = self._ticks[next(self._turn) % len(self._ticks)]
        return Counter({WORK: EACH, TICK: 700 * ticks, HALT: 1 + ticks})


@pytest.mark.parametrize("ticks", [(0, 0, 0, 0, 1), (1, 0, 2, 1, 0, 3, 1)])
def test_a_clock_is_not_the_packets_even_in_most_of_the_bursts(ticks):
    counted = count(Machine(), Ticking(*ticks), None)
    assert counted.values[INSTRUCTIONS] == (EACH + 1) / PACKETS


def test_a_number_of_bursts_that_is_told_is_counted_with_all_that_comes():
    counted = count(Machine(), Ticking(1), 4)
    assert counted.values[INSTRUCTIONS] == (EACH + 700 + 2) / PACKETS
