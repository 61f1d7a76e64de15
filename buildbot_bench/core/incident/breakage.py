"""The bisection of a breakage on evidence of two values (works, broken), and its end.

Good revisions may fail and broken ones may work by accident: `rates` says how likely each place of
the newest breakage is. Trials halve what is left of it (M. Ben-Or and A. Hassidim, "The Bayesian
Learner is Optimal for Noisy Binary Search", 2008), and end when one place is sure and both of its
sides are proved. Equal kernels share their outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from buildbot_bench.core.incident.model import (
    FAILURES,
    MOST_HIDDEN,
    MOST_LOSSES,
    TIP_ROW,
    Breakage,
    BreakageEvidence,
    BrokenTip,
    Ending,
    FloatArray,
    Mended,
    Trial,
    TrialOutcome,
    place_posterior,
)
from buildbot_bench.core.search.model import Measure

# Posterior probability of the place that is stated. A stated 99 % is met by .995 in worlds whose
# rates the grid does not have.
_SURE = 0.995
_HALF = 0.5
_CERTAIN = 8  # failures that one which would come each time counts for


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """The evidence by kernels: `first[p]` is the first position with the kernel of `p`."""

    n: int
    evidence: BreakageEvidence
    first: tuple[int, ...]

    @classmethod
    def of(cls, n: int, evidence: BreakageEvidence) -> _Known:
        first: list[int] = []
        for position in range(n + 1):
            same = position > 0 and position in evidence.same_as_previous
            first.append(first[-1] if same else position)
        return cls(n=n, evidence=evidence, first=tuple(first))

    def trials(self, position: int, *outcomes: TrialOutcome) -> list[Trial]:
        """Those of the kernel at a position, with these outcomes, in the order they were asked."""
        kernel = self.first[position]
        found = (
            trial
            for trial in self.evidence.trials
            if 0 <= trial.position <= self.n
            and self.first[trial.position] == kernel
            and trial.outcome in outcomes
        )
        return sorted(found, key=lambda trial: trial.asked_at_s)

    def positions(self, outcome: TrialOutcome) -> set[int]:
        """All positions whose kernel had that outcome."""
        kernels = {
            self.first[trial.position]
            for trial in self.evidence.trials
            if trial.outcome is outcome and 0 <= trial.position <= self.n
        }
        return {position for position in range(self.n + 1) if self.first[position] in kernels}

    def sure(self, failures: Sequence[Trial]) -> bool:
        """Whether these failures of one kernel are no accident."""
        tries = sum(trial.tries for trial in failures)
        return tries >= FAILURES or any(trial.certain for trial in failures)

    def last(self, kernel: int) -> int:
        """The last position with a kernel."""
        return max(p for p in range(kernel, self.n + 1) if self.first[p] == kernel)

    def mostly_fails(self, position: int) -> bool:
        """Whether more trials of a kernel failed than worked."""
        fails = self.trials(position, TrialOutcome.BROKEN)
        return len(fails) > len(self.trials(position, TrialOutcome.WORKS))

    def hopeless(self) -> set[int]:
        """The positions that cannot be tried, or were often enough without saying anything."""
        lost = {
            position
            for position in self.positions(TrialOutcome.LOST)
            if sum(t.tries for t in self.trials(position, TrialOutcome.LOST)) >= MOST_LOSSES
        }
        return self.positions(TrialOutcome.HIDDEN) | lost


def plan_breakage(n: int, evidence: BreakageEvidence, builders: int = 1) -> Measure | Breakage:
    """What to try next in the range 0..n, or the answer.

    `Measure` asks for one more trial of the first image at a position; `prefetch` names what to
    build meanwhile, by `builders` that are left over: nothing with one.
    """
    known = _Known.of(n, evidence)
    works = known.positions(TrialOutcome.WORKS)
    broken = known.positions(TrialOutcome.BROKEN) - works
    if n not in works | broken:
        return _end(known, n, works)
    kernels = {known.first[position] for position in works | broken}
    if 0 not in kernels and (not works or len(kernels) == 1):
        return _end(known, 0, works)
    return _locate(known, builders)


def _locate(known: _Known, builders: int) -> Measure | Breakage:
    """Narrow the likeliest place of the newest breakage, and try beside it until it is sure."""
    hopeless = known.hopeless()
    kernels, posterior = _places(known)
    likely = int(np.argmax(posterior))
    if posterior[likely] >= _SURE and likely in {0, len(kernels)}:
        return _without_a_place(known, kernels[0], is_fixed=likely > 0)
    below = np.cumsum(posterior)
    at = int(np.argmax(below >= _HALF))
    if posterior[likely] >= _SURE or not 0 < at < len(kernels):
        at = min(max(likely, 1), len(kernels) - 1)
    old, new = known.last(kernels[at - 1]), kernels[at]
    hidden = tuple(position for position in range(old + 1, new) if position in hopeless)
    middle = _middle(old, new, hidden, most=MOST_HIDDEN)
    if middle is not None:
        ahead = _ahead(known, old, new, middle, hidden)
        return _measure(known, middle, ahead=ahead[: builders - 1])
    if posterior[likely] < _SURE:
        wanted = kernels[int(np.argmin(np.abs(below[:-1] - _HALF)))]
        if wanted not in hopeless:
            return _measure(known, wanted)
    if (missing := _unproved(known, old, new)) is not None:
        return missing
    before = [k for k in kernels if k < old and known.mostly_fails(k)]
    return Breakage(
        ending=Ending.BROKEN,
        old=old,
        new=new,
        reason=known.trials(new, TrialOutcome.BROKEN)[-1].reason,
        hidden=hidden,
        before=known.last(before[-1]) if before else None,
        detail="proved by both sides",
    )


def _without_a_place(known: _Known, oldest: int, *, is_fixed: bool) -> Measure | Breakage:
    """What is said where all that was tried works, or where all fails, the old end surely."""
    if is_fixed:
        return Breakage(ending=Ending.MENDED, old=0, new=known.n, detail="the new end works")
    if known.sure(known.trials(oldest, TrialOutcome.BROKEN)) or oldest in known.hopeless():
        why = "the old end is broken"
        if known.trials(oldest, TrialOutcome.WORKS):
            fails = known.trials(oldest, TrialOutcome.BROKEN)
            why = f"a revision that worked before now fails: {fails[-1].reason}"
        return _unproven(known.n, why)
    return _measure(known, oldest)


def _places(known: _Known) -> tuple[list[int], FloatArray]:
    """The kernels that were tried, and the probability of each place of the breakage among them.

    A commit that leaves the kernel as it is broke nothing.
    """
    tried: dict[int, list[int]] = {}
    for trial in known.evidence.trials:
        if trial.outcome in {TrialOutcome.WORKS, TrialOutcome.BROKEN} and trial.position <= known.n:
            counts = tried.setdefault(known.first[trial.position], [0, 0])
            fails = trial.outcome is TrialOutcome.BROKEN
            counts[int(fails)] += (_CERTAIN if trial.certain else trial.tries) if fails else 1
    kernels = sorted(tried)
    works, failed = ([tried[kernel][side] for kernel in kernels] for side in (0, 1))
    changes = np.cumsum([known.first[place] == place for place in range(known.n + 1)])
    return kernels, place_posterior(works, failed, np.diff(changes[kernels]).tolist())


def bracket(n: int, evidence: BreakageEvidence) -> tuple[int, int]:
    """The newest position that works and the first broken one after it; unknown: the ends."""
    known = _Known.of(n, evidence)
    works = known.positions(TrialOutcome.WORKS)
    old = max(works, default=0)
    broken = known.positions(TrialOutcome.BROKEN) - works
    return old, min((position for position in broken if position > old), default=n)


def _end(known: _Known, position: int, works: set[int]) -> Measure | Breakage:
    """An end of the range must be known before anything else is worth a trial."""
    if position in known.hopeless():
        return _unproven(known.n, "an end of the range cannot be tried", old=max(works, default=0))
    return _measure(known, position)


def _unproven(new: int, detail: str, *, old: int = 0) -> Breakage:
    return Breakage(ending=Ending.UNPROVEN, old=old, new=new, detail=detail)


def _measure(known: _Known, position: int, ahead: Iterable[int] = ()) -> Measure:
    tried = known.first[position]
    # Of revisions with one kernel the one that is built needs no builder.
    alike = [p for p in range(tried, known.n + 1) if known.first[p] == tried]
    chosen = next((p for p in alike if p in known.evidence.built), tried)
    return Measure(position=chosen, image=0, prefetch=tuple(ahead))


def _middle(old: int, new: int, hidden: Sequence[int], *, most: int) -> int | None:
    """Which position between two known ones to try; None when there is none worth it.

    What cannot be tried mostly stands together: both edges of the stretch are bisected, and what
    lies between two hidden positions comes last. So a stretch of any length costs about twice the
    logarithm of the range, and never more than `most` such positions.
    """
    if len(hidden) >= most:
        return None
    if not hidden:
        return (old + new) // 2 if new - old > 1 else None
    edges = [(old, hidden[0]), (hidden[-1], new)]
    inner = list(pairwise(hidden))
    for gaps in (edges, inner):
        low, high = max(gaps, key=lambda gap: gap[1] - gap[0], default=(old, old))
        if high - low > 1:
            return (low + high) // 2
    return None


def _ahead(known: _Known, old: int, new: int, middle: int, hidden: Sequence[int]) -> list[int]:
    """What will be tried after the middle, no matter which way that goes."""
    sides = ((middle, new), (old, middle))
    quarters = [(low + high) // 2 for low, high in sides if high - low > 1]
    return [p for p in quarters if p not in known.evidence.built and p not in hidden]


def _unproved(known: _Known, old: int, new: int) -> Measure | Breakage | None:
    """The trial that the proof of both sides lacks, why it cannot be made, or None."""
    lost = MOST_LOSSES
    if not known.sure(known.trials(new, TrialOutcome.BROKEN)):
        if len(known.trials(new, TrialOutcome.LOST)) >= lost:
            return _unproven(new, "the first broken revision could not be tried again", old=old)
        return _measure(known, new)
    since_s = min(
        trial.asked_at_s
        for position in range(old + 1, known.n + 1)
        for trial in known.trials(position, TrialOutcome.BROKEN)
    )
    again = [t for t in known.trials(old, *TrialOutcome) if t.asked_at_s >= since_s]
    if any(trial.outcome is TrialOutcome.WORKS for trial in again):
        return None
    fails = [trial for trial in again if trial.outcome is TrialOutcome.BROKEN]
    if known.sure(fails):
        return _unproven(
            new, f"a revision that worked before now fails: {fails[-1].reason}", old=old
        )
    if sum(trial.outcome is TrialOutcome.LOST for trial in again) >= lost:
        return _unproven(new, "the last working revision could not be tried again", old=old)
    return _measure(known, old)


def broken_tip(trials: Iterable[Trial]) -> BrokenTip | None:
    """Whether the newest commits that say something fail, TIP_ROW in a row, and one worked."""
    works, broken = _told(trials)
    last = sorted(works | broken)[-TIP_ROW:]
    if not works or len(last) < TIP_ROW or works & set(last):
        return None
    return BrokenTip(works=max(works), broken=last[-1])


def mended(trials: Iterable[Trial], since: int) -> Mended | None:
    """Where a branch works again that was broken at a position; None while it does not."""
    works, broken = _told(trials)
    later = [position for position in works if position > since]
    if not later:
        return None
    new = min(later)
    return Mended(old=max({since} | {p for p in broken if p < new}), new=new)


def _told(trials: Iterable[Trial]) -> tuple[set[int], set[int]]:
    by = {TrialOutcome.WORKS: set[int](), TrialOutcome.BROKEN: set[int]()}
    for trial in trials:
        if trial.outcome in by:
            by[trial.outcome].add(trial.position)
    return by[TrialOutcome.WORKS], by[TrialOutcome.BROKEN] - by[TrialOutcome.WORKS]
