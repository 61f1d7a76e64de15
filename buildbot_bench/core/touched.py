"""The prior of each commit of a range, by the files that the commit touches.

The prior is half informed and half flat, w_i = 1/(2m) + q_i/2 with the q_i summing to 1 and m the
possible culprits, so a wrong informed half costs one bit more than a flat prior. The informed half
divides its mass equally between two classes of commits: those that touch a file with a function
that runs under the workload, and others that touch a file of the kernel's build.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum

from buildbot_bench.core.json_model import Count, Share
from buildbot_bench.core.read_files import FileChange, ReadFiles

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
        return tuple(
            TouchClass(
                touch=touch,
                commits=self.touches.count(touch),
                share=self._share(touch),
            )
            for touch in Touch
            if self.ran or touch is not Touch.RUNS
        )

    def _share(self, touch: Touch) -> float:
        weights = (w for w, t in zip(self.weights, self.touches, strict=True) if t is touch)
        return min(fsum(weights), 1.0)


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbours:
    """What the nearest builds around a commit read: the last before it, the first after it.

    `after` is None where nothing after it was built yet.
    """

    before: ReadFiles
    after: ReadFiles | None = None


def presumed_no_op(changes: Sequence[FileChange], around: Neighbours) -> bool:
    """Whether a commit is presumed to change nothing of the kernel: no neighbour reads its files.

    Where no commit between it and a neighbour changes the kernel, that follows: all that was read
    is as it was, so the same is read again. Else it errs where a file is read only since a commit
    in between that is not built either; such a commit is built before long, being no no-op change
    itself, and with its list the commit is looked at again.
    """
    lists = [around.before] if around.after is None else [around.before, around.after]
    return not any(one.touched_by(changes) for one in lists)


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
