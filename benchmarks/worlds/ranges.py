"""Ranges of commits: their steps, broken revisions and priors."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

Rng = np.random.Generator

# Of the commits, so many touch what the kernel is built from, and so many what runs; one that runs
# is thought so many times as likely as one that is only built. The true ratio is another.
KERNEL, RUNS = 1 / 4, 1 / 20
_RUNS_WEIGHS = 12.0


@dataclass(frozen=True, kw_only=True)
class Range:
    """The truth of commits 1..n: commit → effect (a fraction), and the positions that do not build.

    `weights` are what the search may be told of each commit beforehand.
    """

    steps: dict[int, float] = field(default_factory=dict)
    untestable: frozenset[int] = frozenset()
    weights: tuple[float, ...] | None = None


Draw = Callable[[Rng, int], Range]


def nothing(_: Rng, __: int) -> Range:
    """No step at all."""
    return Range()


def single(effect: float) -> Draw:
    """One step of that effect, at any commit."""
    return lambda rng, n: Range(steps={int(rng.integers(1, n + 1)): effect})


def several(count: int, effect: float) -> Draw:
    """So many steps of that effect each, at commits of their own."""

    def draw(rng: Rng, n: int) -> Range:
        commits = 1 + rng.choice(n, count, replace=False)
        return Range(steps={int(commit): effect for commit in sorted(commits)})

    return draw


def iflib(rng: Rng, n: int) -> Range:
    """The shape of r311848…r313448: down at the first commit, up twice in a row, down again."""
    up, down = sorted(int(c) for c in rng.choice(np.arange(3, n), 2, replace=False))
    return Range(steps={1: -0.256, up: 0.23, up + 1: 0.022, down + 1: -0.136})


def scattered_untestable(effect: float, share: float) -> Draw:
    """One step, and a share of the commits, in runs of one to nine, that do not build."""

    def draw(rng: Rng, n: int) -> Range:
        broken: set[int] = set()
        while len(broken) < share * n:
            first = int(rng.integers(1, n))
            broken.update(range(first, min(first + int(rng.integers(1, 10)), n)))
        return Range(steps={int(rng.integers(1, n + 1)): effect}, untestable=frozenset(broken))

    return draw


def untestable_one_by_one(effect: float, share: float) -> Draw:
    """One step, and revisions between the ends of which each fails with this probability."""

    def draw(rng: Rng, n: int) -> Range:
        broken = 1 + np.flatnonzero(rng.random(n - 1) < share)
        return Range(
            steps={int(rng.integers(1, n + 1)): effect}, untestable=frozenset(broken.tolist())
        )

    return draw


def untestable_stretch(effect: float, share: float, *, inside: bool) -> Draw:
    """A stretch that does not build; the step inside of it, or within eight commits beside it."""

    def draw(rng: Rng, n: int) -> Range:
        length, room = round(share * n), 10
        first = int(rng.integers(room, n - length - room))
        stretch = range(first, first + length)
        if inside:
            commit = int(rng.integers(first + 1, first + length))
        else:
            away = int(rng.integers(1, 9))
            commit = int(rng.choice([first - away, first + length + away]))
        return Range(steps={commit: effect}, untestable=frozenset(stretch))

    return draw


def informed(effect: float, shares: tuple[float, float, float], *, told: bool) -> Draw:
    """One step whose commit runs, is only built, or neither, with these shares.

    Half of the weights is flat, half by class; they are given only when `told`.
    """

    def draw(rng: Rng, n: int) -> Range:
        order = 1 + rng.permutation(n)
        runs, kernel = round(RUNS * n), round(KERNEL * n)
        classes = order[:runs], order[runs:kernel], order[kernel:]
        culprit = int(rng.choice(classes[rng.choice(3, p=shares)]))
        by_class = np.zeros(n)
        by_class[classes[0] - 1], by_class[classes[1] - 1] = _RUNS_WEIGHS, 1.0
        weights = 0.5 / n + 0.5 * by_class / by_class.sum()
        return Range(steps={culprit: effect}, weights=tuple(weights.tolist()) if told else None)

    return draw
