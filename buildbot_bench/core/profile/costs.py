"""Each function's cost per packet (share of a capture times a packet's cost), and its change."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import copysign, hypot, sqrt

from buildbot_bench.core.profile.model import Profile, Stack
from buildbot_bench.core.profile.symbols import FunctionChange, restore_callers

_NS_PER_S = 1e9
_MOST_CALLERS = 3
# A caller is named when the calls from there carry this part of the function's change.
_CARRIES = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Priced:
    """A capture and what one of its samples stands for: `per_sample`, in `unit` per packet.

    `stacks` are those that cost something: all of an exact capture, the busy ones of another.
    """

    stacks: tuple[Stack, ...]
    per_sample: float
    unit: str
    is_exact: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CostChange(FunctionChange):
    """A function's own cost per packet.

    `callers`, nearest first, are those of the calls that carry most of the change, if any do.
    """

    callers: tuple[str, ...] = ()


def price(
    old: Profile, new: Profile, *, rates: tuple[float, float] | None = None
) -> tuple[Priced, Priced] | None:
    """Both captures with what a sample of each costs; None where that is not known.

    Exact captures of a known number of packets need nothing else. Sampled ones need `rates`, the
    measured packets per second of each side: the busy processors take 1 / rate for a packet, if
    the same number of them is busy. All of an exact capture counts, idle or not: its sum is what
    is measured.
    """
    if old.is_per_packet and new.is_per_packet:
        exact = [
            Priced(
                stacks=side.stacks,
                per_sample=1 / side.packets,
                unit="instructions",
                is_exact=True,
            )
            for side in (old, new)
        ]
        return exact[0], exact[1]
    if rates is None or min(rates) <= 0 or old.is_exact or new.is_exact:
        return None
    restored = restore_callers(old, new)
    if not all(side.busy_samples for side in restored):
        return None
    sampled = [
        Priced(
            stacks=side.busy,
            per_sample=_NS_PER_S / rate / side.busy_samples,
            unit="ns",
            is_exact=False,
        )
        for side, rate in zip(restored, rates, strict=True)
    ]
    return sampled[0], sampled[1]


def cost_ratio(
    old: Profile, new: Profile, *, rates: tuple[float, float] | None = None
) -> float | None:
    """What a packet costs in the new capture, as a factor; None: unknown. `rates` as in `price`."""
    if old.is_per_packet and new.is_per_packet:
        before, after = (side.busy_samples / side.packets for side in (old, new))
        return after / before if before and after else None
    if rates is None or min(rates) <= 0 or old.is_exact or new.is_exact:
        return None
    return rates[0] / rates[1]


def compare_costs(old: Priced, new: Priced) -> tuple[CostChange, ...]:
    """How each function's own cost changed, largest first, then by name; errors are Poisson's."""
    before, after = _counts(old.stacks), _counts(new.stacks)
    calls = _call_deltas(old, new)
    changes = [
        CostChange(
            name=name,
            old=before[name] * old.per_sample,
            new=after[name] * new.per_sample,
            error=hypot(_error(old, before[name]), _error(new, after[name])),
            callers=_callers(calls.get(name, {})),
        )
        for name in before.keys() | after.keys()
    ]
    return tuple(sorted(changes, key=lambda change: (-abs(change.delta), change.name)))


def _error(side: Priced, samples: int) -> float:
    return 0.0 if side.is_exact else sqrt(samples) * side.per_sample


def _counts(stacks: Iterable[Stack]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for stack in stacks:
        counts[stack.leaf] += stack.samples
    return counts


def _call_deltas(old: Priced, new: Priced) -> dict[str, dict[tuple[str, ...], float]]:
    """By function and by its nearest callers, how much the cost of those calls changed."""
    deltas: dict[str, dict[tuple[str, ...], float]] = {}
    for side, sign in ((old, -1), (new, 1)):
        for stack in side.stacks:
            nearest = tuple(reversed(stack.frames[-1 - _MOST_CALLERS : -1]))
            of_leaf = deltas.setdefault(stack.leaf, {})
            of_leaf[nearest] = of_leaf.get(nearest, 0.0) + sign * stack.samples * side.per_sample
    return deltas


def _callers(deltas: dict[tuple[str, ...], float]) -> tuple[str, ...]:
    """The longest run of callers through which most of the change comes."""
    whole = sum(deltas.values())
    run: tuple[str, ...] = ()
    for depth in range(1, _MOST_CALLERS + 1):
        through: dict[tuple[str, ...], float] = {}
        for callers, delta in deltas.items():
            if len(callers) >= depth and callers[: depth - 1] == run:
                through[callers[:depth]] = through.get(callers[:depth], 0.0) + delta
        best = max(through, key=lambda callers: copysign(1, whole) * through[callers], default=None)
        if best is None or not whole or through[best] / whole < _CARRIES:
            break
        run = best
    return run
