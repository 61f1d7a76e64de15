"""Each function's part of two captures, a share or a cost per packet, and its change.

pmcstat keeps the innermost frames only (`-z16`: sixteen). Where a change makes call chains shorter,
more of them are whole, and unchanged code would seem to have moved.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from math import copysign, hypot, sqrt
from typing import TypeVar

from buildbot_bench.core.json_model import Share, in_json
from buildbot_bench.core.profile.model import Profile, Stack

CALLCHAIN_DEPTH = 16  # frames; that of `pmcstat -z16`, as the archive's captures were made

# How many frames may be needed to tell where a cut stack belongs: a function that is called
# from several places is known by what it calls in turn.
_LONGEST_CLUE = 4

# Whole stacks agree when all but this part of their samples have the same callers: an interrupt
# during a function's prologue gives a stray stack now and then.
_STRAY = 0.01

_Frames = tuple[str, ...]
_Callers = dict[_Frames, Counter[_Frames]]
_Change = TypeVar("_Change", bound="FunctionChange")


def restore_callers(*profiles: Profile, depth: int = CALLCHAIN_DEPTH) -> tuple[Profile, ...]:
    """The same profiles, each cut stack lengthened by the callers that whole ones have there.

    A stack of at least `depth` frames may be cut. It is left as it is where the whole stacks of
    all the profiles, which serve as evidence together, have no callers or do not agree on them.
    """
    known = _known_callers(profiles, depth)
    return tuple(
        replace(profile, stacks=tuple(_restored(stack, known, depth) for stack in profile.stacks))
        for profile in profiles
    )


def _known_callers(profiles: tuple[Profile, ...], depth: int) -> _Callers:
    """Which callers the beginnings of cut stacks have in whole ones, weighed by samples."""
    stacks = [stack for profile in profiles for stack in profile.stacks]
    cut = {stack.frames for stack in stacks if len(stack.frames) >= depth}
    clues = {frames[:length] for frames in cut for length in range(1, _LONGEST_CLUE + 1)}
    outermost = {frames[0] for frames in cut}
    known: _Callers = defaultdict(Counter)
    for stack in stacks:
        if len(stack.frames) >= depth:
            continue
        for start, name in enumerate(stack.frames):
            if name not in outermost:
                continue
            for length in range(1, _LONGEST_CLUE + 1):
                run = stack.frames[start : start + length]
                if len(run) == length and run in clues:
                    known[run][stack.frames[:start]] += stack.samples
    return known


def _restored(stack: Stack, known: _Callers, depth: int) -> Stack:
    if len(stack.frames) < depth:
        return stack
    for length in range(1, _LONGEST_CLUE + 1):
        callers = known.get(stack.frames[:length])
        if callers is None:
            return stack
        [(likeliest, samples)] = callers.most_common(1)
        if samples >= (1 - _STRAY) * callers.total():
            return replace(stack, frames=likeliest + stack.frames)
    return stack


# Hundreds of functions are compared at once: at three standard errors about one in 400 that did
# not change still seems to have.
_SURE_ERRORS = 3.0


class Cycles(StrEnum):
    """Which cycles count as a function's: its own, or also those of what it called."""

    SELF = "self"
    INCLUSIVE = "inclusive"


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionChange:
    """What a function took in an old and a new capture.

    `error` is the standard error of the difference that sampling alone makes, 0 where nothing was
    sampled. What differs from boot to boot is not in it: that needs several captures.
    """

    name: str
    old: float
    new: float
    error: float = 0.0

    @property
    def delta(self) -> float:
        """New less old."""
        return self.new - self.old

    @property
    @in_json
    def sure(self) -> bool:
        """Whether the difference is more than sampling explains."""
        return abs(self.delta) > _SURE_ERRORS * self.error


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareChange(FunctionChange):
    """A function's own fraction of the busy cycles on both sides.

    `error` is the standard error of the difference that sampling alone makes, two binomial
    proportions' (sqrt(p(1-p)/n + q(1-q)/m)); `sure` is that the difference is more than three of
    those.
    """

    old: Share
    new: Share


def top_symbols(profile: Profile, *, limit: int = 20) -> tuple[tuple[str, float], ...]:
    """The functions with their own fractions of all busy cycles, largest first, then by name."""
    (whole,) = restore_callers(profile)
    own = _counts(whole.busy)
    names = sorted(_counts(whole.busy, Cycles.INCLUSIVE), key=lambda name: (-own[name], name))
    return tuple((name, _proportion(own[name], whole.busy_samples)[0]) for name in names[:limit])


def compare_symbols(
    old: Profile, new: Profile, *, by: Cycles = Cycles.SELF
) -> tuple[ShareChange, ...]:
    """How every function's share changed, the largest change first, then by name.

    Of two exact captures both shares are of the old one's total: what a function does more does not
    make the others' shares smaller.
    """
    exact = old.is_exact and new.is_exact
    old, new = restore_callers(old, new)
    old_counts, new_counts = _counts(old.busy, by), _counts(new.busy, by)
    if exact:
        return _by_size(_exact_changes(old_counts, new_counts, old.busy_samples))
    old_busy, new_busy = old.busy_samples, new.busy_samples
    changes = [
        share_change(name, old=(old_counts[name], old_busy), new=(new_counts[name], new_busy))
        for name in old_counts.keys() | new_counts.keys()
    ]
    return _by_size(changes)


def share_change(
    name: str, *, old: tuple[int, int], new: tuple[int, int], cost: float = 1.0
) -> ShareChange:
    """The change of a share, (samples, all busy ones); the new one is multiplied by `cost`."""
    (old_share, old_variance), (new_share, new_variance) = _proportion(*old), _proportion(*new)
    return ShareChange(
        name=name,
        old=old_share,
        new=cost * new_share,
        error=sqrt(old_variance + cost * cost * new_variance),
    )


def _exact_changes(old: Counter[str], new: Counter[str], total: int) -> list[ShareChange]:
    return [
        ShareChange(name=name, old=old[name] / total, new=new[name] / total, error=0.0)
        for name in old.keys() | new.keys()
        if total
    ]


def _by_size(changes: Iterable[_Change]) -> tuple[_Change, ...]:
    return tuple(sorted(changes, key=lambda change: (-abs(change.delta), change.name)))


def _proportion(part: int, whole: int) -> tuple[float, float]:
    """A fraction and its variance; of nothing, nothing is known to be there."""
    if not whole:
        return 0.0, 0.0
    share = part / whole
    return share, share * (1 - share) / whole


def _counts(stacks: Iterable[Stack], by: Cycles = Cycles.SELF) -> Counter[str]:
    """The samples of each function; one that calls itself counts once in a stack."""
    counts: Counter[str] = Counter()
    for stack in stacks:
        for name in {stack.leaf} if by is Cycles.SELF else set(stack.frames):
            counts[name] += stack.samples
    return counts


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
    return _by_size(changes)


def _error(side: Priced, samples: int) -> float:
    return 0.0 if side.is_exact else sqrt(samples) * side.per_sample


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
