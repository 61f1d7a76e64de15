"""Ways in which bench.yml loses names that the tables have: a testbed, or its workloads."""

from collections.abc import Iterator
from contextlib import contextmanager

from twisted.python import log

from buildbot_bench.plugin.broker.scheduler import Cycle
from tests.fakes.past import Past

_APU = "  apu: {worker: lab, boot: 60s, run: 30s}\n"
_NO_TESTBED = "testbed apu is no longer in bench.yml"

# What is replaced in tests/plugin/bench.yml, and what is said of forwarding on apu then.
WAYS = {
    "removed": (((_APU, ""), ("runs-on: apu", "runs-on: xeon")), _NO_TESTBED),
    "renamed": ((("  apu:", "  apu2:"), ("runs-on: apu", "runs-on: apu2")), _NO_TESTBED),
    "not measured": (
        (("[forwarding]", "[ipfw]"),),
        "testbed apu no longer measures forwarding: no job of bench.yml asks for it",
    ),
}
# The same with xeon, which goes on.
BOTH = ("runs-on: apu", "runs-on: [apu, xeon]")
APU_REMOVED = ((_APU, ""), ("runs-on: apu", "runs-on: [xeon]"))


@contextmanager
def no_errors() -> Iterator[None]:
    """Nothing goes to the master's log as an error."""
    events: list[str] = []

    def observe(event: dict[str, object]) -> None:
        if event["isError"]:
            events.append(f"{event.get('why')}: {event.get('failure')}")

    log.addObserver(observe)
    try:
        yield
    finally:
        log.removeObserver(observe)
    assert events == []


def level(position: int) -> float:
    """r7 made it slower."""
    return 1e6 if position < 7 else 0.8e6


async def lab_answers(past: Past) -> int:
    """The lab does all that is asked, also what was issued."""
    return await past.lab_answers(level, states=("new", "issued"))


async def worked(cycle: Cycle, past: Past, *, at_most: int = 150) -> None:
    """Let broker and lab take turns until nothing is asked for."""
    for _ in range(at_most):
        await cycle.run()
        if not await lab_answers(past):
            return
    raise AssertionError("the broker asks for ever")
