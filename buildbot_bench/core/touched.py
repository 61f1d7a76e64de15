"""The prior of each commit of a range, by touched files and by exact figures.

The prior is half informed and half flat, w_i = 1/(2m) + q_i/2 with the q_i summing to 1 and m the
possible culprits, so a wrong informed half costs one bit more than a flat prior. The informed half
divides its mass equally between two classes of commits: those that touch a file with a function
that runs under the workload, and others that touch a file of the kernel's build.

An exact figure has no noise: where it moved, a commit changed what the kernel executes. With moves
m_i of the commits 1..n and base weights b_i the weights are

    w_i = (1 - s) · b_i·q_i / Σ b_j·q_j  +  s · [b_i > 0] / Σ [b_j > 0]
    q_i ~ min(|m_i|, relevant)

with s = FLAT_SHARE of core.touched. Moves of either sign count: fewer instructions may take longer.
Because of the flat share, a wrong prior costs one bit more than a flat one over the possible
culprits.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import fsum
from statistics import median

import numpy as np

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import Count, Share
from buildbot_bench.core.read_files import FileChange, ReadFiles
from buildbot_bench.core.sample import NoiseClass, Sample

# The share of the prior that is spread over all commits alike; 1/2 is one bit.
FLAT_SHARE = 0.5
# Of a hundred culprits, so many touch what runs, and so many something else of the kernel; the two
# that touch neither are the flat half's. Chosen, after what the field's people tell: no archive
# known to us counts culprits by what they touch.
_RUNS_MASS, _BUILT_MASS = 80.0, 18.0


class Touch(StrEnum):
    """What a commit touches, in the order of suspicion."""

    RUNS = "runs"
    BUILT = "built"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True, slots=True)
class TouchClass:
    """How many commits touch that, and which share of the prior they have together."""

    touch: Touch
    commits: Count
    share: Share


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitPrior:
    """The `weights` of commits 1..n, which sum to 1 (or are all 0), and what each of them touches.

    `ran` is False where nothing is known of what runs: the class RUNS is empty then.
    """

    weights: tuple[float, ...]
    touches: tuple[Touch, ...]
    ran: bool

    @property
    def classes(self) -> tuple[TouchClass, ...]:
        """The classes, the most suspicious first."""
        pairs = list(zip(self.weights, self.touches, strict=True))
        return tuple(
            TouchClass(
                touch=touch,
                commits=self.touches.count(touch),
                share=min(fsum(w for w, t in pairs if t is touch), 1.0),
            )
            for touch in Touch
            if self.ran or touch is not Touch.RUNS
        )


def commit_prior(
    changes: Sequence[Sequence[FileChange]],
    read: ReadFiles,
    ran: Collection[str] = (),
    *,
    no_ops: Collection[int] = (),
) -> CommitPrior:
    """The prior of commits 1..n: `changes` has the files that each of them touches.

    `ran` are the files (paths in git) that hold functions which run under the workload; empty
    where that is not known. `no_ops` are positions whose kernel is that of the one before: they
    weigh nothing.
    """
    running = frozenset(ran)
    touches = tuple(_touch(files, read, running) for files in changes)
    culprits = [t for place, t in enumerate(touches, 1) if place not in no_ops]
    informed = _informed(culprits.count(Touch.RUNS), culprits.count(Touch.BUILT))
    flat = FLAT_SHARE if informed else 1.0
    weights = (
        0.0 if place in no_ops else flat / len(culprits) + (1 - flat) * informed.get(touch, 0.0)
        for place, touch in enumerate(touches, 1)
    )
    return CommitPrior(weights=tuple(weights), touches=touches, ran=bool(ran))


def presumed_no_op(changes: Sequence[FileChange], around: Iterable[ReadFiles]) -> bool:
    """Whether a commit is presumed to change nothing of the kernel: no neighbour reads its files.

    `around` is what the nearest builds before and after it read.
    Where no commit between it and a neighbour changes the kernel, that follows: all that was read
    is as it was, so the same is read again. Else it errs where a file is read only since a commit
    in between that is not built either; such a commit is built before long, being no no-op change
    itself, and with its list the commit is looked at again.
    """
    return not any(one.touched_by(changes) for one in around)


def _touch(files: Sequence[FileChange], read: ReadFiles, ran: frozenset[str]) -> Touch:
    if any(file.path in ran for file in files):
        return Touch.RUNS
    return Touch.BUILT if read.touched_by(files) else Touch.NEITHER


def _informed(runs: int, built: int) -> dict[Touch, float]:
    """The informed weight of one commit of each class; empty when no commit is in any."""
    if not runs + built:
        return {}
    mass = {Touch.RUNS: _RUNS_MASS * (runs > 0), Touch.BUILT: _BUILT_MASS * (built > 0)}
    total = sum(mass.values())
    each = {
        touch: mass[touch] / total / count
        for touch, count in ((Touch.RUNS, runs), (Touch.BUILT, built))
        if count
    }
    # Where nearly all of the kernel's commits touch what runs, the few others must not weigh more.
    if each.get(Touch.RUNS, 1.0) < each.get(Touch.BUILT, 0.0):
        return dict.fromkeys(each, 1 / (runs + built))
    return each


NO_MOVE = 0.0005
"""Moves below this fraction are none: boots of FreeBSD 13.1 count alike to .04 % (core.model)."""


def exact_levels(samples: Iterable[Sample]) -> dict[int, float]:
    """The figure of each position in the epoch that was counted last; sampled metrics have none."""
    exact = [
        sample
        for sample in samples
        if sample.metric.noise is NoiseClass.EXACT and any(v > 0 for v in sample.values)
    ]
    if not exact:
        return {}
    last = max(exact, key=lambda sample: max(i.at_s for i in sample.iterations))
    values: dict[int, list[float]] = {}
    for sample in exact:
        if (sample.metric, sample.epoch) == (last.metric, last.epoch):
            values.setdefault(sample.position, []).extend(v for v in sample.values if v > 0)
    return {position: median(of) for position, of in values.items()}


def exact_weights(
    n: int,
    levels: Mapping[int, float],
    *,
    relevant: float,
    base: Sequence[float] | None = None,
) -> tuple[float, ...] | None:
    """The weights of the commits 1..n, which sum to 1; `base` when the figure never moved.

    `levels` are exact figures by position, 0..n, of as many positions as were counted; a move
    between two of them is shared by the commits between. `relevant` is the smallest effect that
    is looked for, a fraction. `base` are n weights of other evidence; None: flat.
    Raises UsageError for positions outside 0..n, figures <= 0, or a base of another length.
    """
    _check(n, levels, base)
    informed = _moves(n, levels, relevant)
    if base is None or sum(base) <= 0:
        given, base = np.ones(n), None
    else:
        given = np.asarray(base, dtype=float)
    product = informed * given
    if product.sum() <= 0:
        return None if base is None else tuple(base)
    flat = given > 0
    mixed = (1 - FLAT_SHARE) * product / product.sum() + FLAT_SHARE * flat / flat.sum()
    return tuple(mixed.tolist())


def _moves(n: int, levels: Mapping[int, float], relevant: float) -> np.ndarray:
    """What each commit may have moved the figure by, at most `relevant`, (n,)."""
    moves = np.zeros(n)
    for (old, before), (new, after) in pairwise(sorted(levels.items())):
        size = abs(math.log(after / before))
        if size >= NO_MOVE:
            moves[old:new] = min(size, relevant) / (new - old)
    return moves


def _check(n: int, levels: Mapping[int, float], base: Sequence[float] | None) -> None:
    outside = [position for position in levels if not 0 <= position <= n]
    if outside:
        raise UsageError(
            f"position {min(outside)} is outside of the range 0..{n}",
            hint="give the figures of the range alone",
        )
    if any(level <= 0 for level in levels.values()):
        raise UsageError("an exact figure is not positive", hint="drop measurements that failed")
    if base is not None and len(base) != n:
        raise UsageError(f"there are {len(base)} base weights for {n} commits")
