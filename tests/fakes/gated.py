"""A farm whose testbed `apu` has a gate, and the gate's counts."""

from tests.fakes.past import Past

_GATE = """
  gate:
    needs: kernel
    runs-on: xeon
    strategy: {matrix: {workload: [forwarding]}}
    iterations: 3

regression:"""
# For make_farm: `xeon` counts, with a min-effect of 0.1 %; what moved there is measured on `apu`.
GATED = (
    ("\nregression:", _GATE),
    ("needs: kernel\n    runs-on: apu", "needs: gate\n    runs-on: apu"),
    ("worker: lab2,", "worker: lab2, min-effect: 0.1%,"),
)
COUNTED = "instructions/packet"


async def count(past: Past, position: int, value: float) -> None:
    """The gate counted the kernel of a commit, three times alike."""
    await past.measured(position, (value,) * 3, unit=COUNTED, testbed="xeon")


async def known(past: Past, *since: int) -> None:
    """r1 was counted and measured; these came since."""
    await past.commits(1)
    await count(past, 1, 1000.0)
    await past.measured(1, (1e6,) * 5)
    await past.commits(*since)
