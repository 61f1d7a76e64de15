"""The clause that says what a request waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# Of what goes first so many are named; the rest is counted.
_NAMED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitForDecision:
    """It waits for a person, or for what no testbed and no builder brings: `approval`."""

    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitForBuild:
    """It waits for its kernel; `builder` builds it, None: a free one is awaited first.

    `ahead` is what builders build first: of each for whom, as in `search 12 (ann)`, how many.
    """

    label: str
    builder: str | None = None
    ahead: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitForTestbed:
    """It waits until a testbed has done what goes first.

    Attributes:
        name: The testbed's.
        ahead: What goes first, in order: of each for whom, as in `search 12 (ann)`, and how many
            boots.
        away: The worker that serves the testbed, when it is not connected.
        iteration: What an iteration there is called.
    """

    name: str
    ahead: Sequence[tuple[str, int]] = ()
    away: str | None = None
    iteration: str = "boot"


def what_it_waits_for(reason: WaitForDecision | WaitForBuild | WaitForTestbed) -> str:
    """One clause: `waits for testbed apu2: 3 boots of search 12 (ann) go first`."""
    match reason:
        case WaitForDecision(by=by):
            return f"waits for {by}"
        case WaitForBuild(label=label, builder=None, ahead=ahead):
            first = f": {_first(ahead, 'build')}" if ahead else ""
            return f"waits for a builder to build {label}{first}"
        case WaitForBuild(label=label, builder=builder):
            return f"waits for a build of {label} on builder {builder}"
        case WaitForTestbed(name=name, away=str(worker)):
            return f"waits for worker {worker} of testbed {name}, which is not connected"
        case WaitForTestbed(name=name, ahead=ahead, iteration=iteration):
            return f"waits for testbed {name}" + (f": {_first(ahead, iteration)}" if ahead else "")


def _first(ahead: Sequence[tuple[str, int]], what: str) -> str:
    numbers: Counter[str] = Counter()
    for whose, number in ahead:
        numbers[whose] += number
    named = list(numbers.items())
    # One more would be named in as many words as it is counted in.
    shown = named if len(named) <= _NAMED + 1 else named[:_NAMED]
    said = [f"{_count(number, what)} of {whose}" for whose, number in shown]
    if rest := sum(numbers.values()) - sum(number for _, number in shown):
        said.append(f"{_count(rest, what)} of others")
    alone = sum(numbers.values()) == 1
    return f"{_and(said)} {'goes' if alone else 'go'} first"


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _and(said: Sequence[str]) -> str:
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
