"""Simulated comparisons of two variants, each of as many images as the verdict asks for.

The truth is drawn here and knows no constant of the model: images of one code scatter normally, and
boots of an image as those of recorded builds do about their mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.judge_replay import Series
from buildbot_bench.core.ab_test.needed import (
    MoreOfEach,
    boots_of_image,
    images_needed,
    next_of_each,
)
from buildbot_bench.core.ab_test.verdict import (
    ComparedSides,
    Undecided,
    VerdictTerms,
    WithinLayoutLuck,
    compare_sides,
)
from buildbot_bench.core.model import learn
from buildbot_bench.core.sample import Iteration, Sample

MIN_EFFECT = 0.02
MOST_IMAGES = 24  # of a side; then it stays undecided
_FIRST = 8  # commits of a history with five boots each; later ones have one
_PAST = 60  # commits

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, kw_only=True)
class ComparedWorld:
    """What is true of a comparison: `effect` a fraction, `sigma_build` of ln(value).

    `far_share` of the images are slow by 4 %. `boots` are deviations of ln(value) to draw from.
    `looked_for` is the effect for which images are asked beforehand. `past`: a history taught the
    noise.
    """

    effect: float
    looked_for: float
    boots: Floats
    sigma_build: float = 0.016
    far_share: float = 0.0
    past: bool = True


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a comparison came to: its verdict, looks, and images and boots of each side."""

    found: ComparedSides
    looks: int
    images: int
    boots: int
    at_first: int


@dataclass(kw_only=True)
class _Bench:
    """The two variants with what was booted of them."""

    world: ComparedWorld
    rng: np.random.Generator
    sides: tuple[dict[int, list[float]], dict[int, list[float]]] = field(
        default_factory=lambda: ({}, {})
    )
    luck: dict[tuple[int, int], float] = field(default_factory=dict)

    def boot(self, side: int, image: int, times: int) -> None:
        """Measure an image of the base (0) or of the new side (1)."""
        level = math.log1p(self.world.effect) * side
        level += self.luck.setdefault((side, image), _luck(self.world, self.rng))
        drawn = level + self.rng.choice(self.world.boots, times)
        self.sides[side].setdefault(image, []).extend((1e6 * np.exp(drawn)).tolist())

    def have(self) -> MoreOfEach:
        """Images and boots of the side with fewer of them."""
        boots = min(sum(map(len, side.values())) for side in self.sides)
        return MoreOfEach(boots=boots, images=min(map(len, self.sides)))


def residuals(all_series: Sequence[Series]) -> Floats:
    """The deviations of recorded boots from their build's mean (of logarithms), of their spread."""
    found: list[float] = []
    for build in (build for series in all_series for build in series.builds):
        logs = np.log(build.values)
        found += ((logs - logs.mean()) * math.sqrt(logs.size / (logs.size - 1))).tolist()
    return np.array(found)


def compared(world: ComparedWorld, rng: np.random.Generator) -> Told:
    """Compare once, until there is a verdict or MOST_IMAGES."""
    noise = learn(_history(world, rng)) if world.past else None
    terms = VerdictTerms(min_effect=MIN_EFFECT)
    bench = _Bench(world=world, rng=rng)
    first = images_needed(world.looked_for, noise or learn([]))
    _more(bench, MoreOfEach(images=first, boots=first * boots_of_image(noise or learn([]))))
    found, looks = compare_sides(*bench.sides, noise, terms), 1
    while needs := _needs(found, bench):
        _more(bench, next_of_each(needs, bench.have()))
        found, looks = compare_sides(*bench.sides, noise, terms), looks + 1
    have = bench.have()
    return Told(found=found, looks=looks, images=have.images, boots=have.boots, at_first=first)


def _needs(found: ComparedSides, bench: _Bench) -> MoreOfEach | None:
    if isinstance(found.verdict, Undecided | WithinLayoutLuck):
        have = bench.have()
        if have.images < MOST_IMAGES and have.boots < 5 * MOST_IMAGES:
            return found.verdict.needs
    return None


def _more(bench: _Bench, wanted: MoreOfEach) -> None:
    """Boot so many further images of each side, or those that have fewest boots again."""
    for number, side in enumerate(bench.sides):
        further = range(len(side), len(side) + wanted.images)
        for count in range(wanted.boots):
            image = further[count % wanted.images] if wanted.images else _fewest(side)
            bench.boot(number, image, 1)


def _fewest(side: dict[int, list[float]]) -> int:
    return min(side, key=lambda image: len(side[image]))


def _history(world: ComparedWorld, rng: np.random.Generator) -> list[Sample]:
    samples = []
    for position in range(_PAST):
        boots = rng.choice(world.boots, 5 if position < _FIRST else 1)
        values = 1e6 * np.exp(_luck(world, rng) + boots)
        iterations = tuple(Iteration(value=float(value)) for value in values)
        samples.append(Sample(label=f"n{position}", position=position, iterations=iterations))
    return samples


def _luck(world: ComparedWorld, rng: np.random.Generator) -> float:
    luck = float(rng.normal(0, world.sigma_build))
    return luck + (math.log1p(-0.04) if rng.random() < world.far_share else 0.0)
