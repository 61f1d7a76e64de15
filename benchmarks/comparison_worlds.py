"""Simulated comparisons of two variants, with as many images as the verdict asks for.

`core.compare.schedule` chooses the next boots, as on a farm. The truth is independent of the
model's constants: images of one code scatter normally, boots of an image as those of recorded
builds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.judge_replay import Series
from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.compare.schedule import BootLimits, VariantPlan, more_images
from buildbot_bench.core.compare.verdict import ComparedSides, ComparisonTerms
from buildbot_bench.core.compare.verdict import compared as held_against
from buildbot_bench.core.contrast.needed import images_needed
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import PPS, Iteration, Sample

MIN_EFFECT = 0.02
BOOTS = 5  # of an image at most, and of each first one: what bench-compare does without -n
MOST_IMAGES = 24  # of a side; then it stays undecided
_FIRST = 8  # commits of a history with five boots each; later ones have one
_PAST = 60  # commits

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, kw_only=True)
class ComparedWorld:
    """What is true of a comparison: `effect` a fraction, `sigma_build` of ln(value).

    `far_share` of the images are slow by 4 %. `boots` are deviations of ln(value) to draw from.
    `looked_for` is the effect for which images are told beforehand. `past`: a history taught the
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

    def values(self, noise: Noise | None) -> SeriesValues:
        """All that was booted, as the farm has it."""
        return SeriesValues(
            testbed="simulated",
            workload="forwarding",
            metric=PPS,
            values=tuple(
                tuple(value for own in side.values() for value in own) for side in self.sides
            ),
            booted=tuple(
                tuple(image for image, own in side.items() for _ in own) for side in self.sides
            ),
            single=("", ""),
            noise=noise,
        )


def residuals(all_series: Sequence[Series]) -> Floats:
    """The deviations of recorded boots from their build's mean (of logarithms), of their spread."""
    found: list[float] = []
    for build in (build for series in all_series for build in series.builds):
        logs = np.log(build.values)
        found += ((logs - logs.mean()) * math.sqrt(logs.size / (logs.size - 1))).tolist()
    return np.array(found)


def compared(world: ComparedWorld, rng: np.random.Generator, most: int = MOST_IMAGES) -> Told:
    """Compare once, until there is a verdict or `most` images."""
    noise = learn(_history(world, rng)) if world.past else None
    wanted, limits = (
        ComparisonTerms(min_effect=MIN_EFFECT, confidence=95.0),
        BootLimits(boots=BOOTS, images=most),
    )
    bench = _Bench(world=world, rng=rng)
    plans: tuple[VariantPlan, ...] = (VariantPlan(boots={}),) * 2
    after: tuple[VariantPlan, ...] = (VariantPlan(boots={0: BOOTS}),) * 2
    looks = 0
    while after != plans:
        _boot(bench, plans, after)
        values, looks, plans = bench.values(noise), looks + 1, after
        after = more_images(values, plans, limits, wanted, booted=(0, 1))
    return Told(
        found=held_against(values, 1, wanted),
        looks=looks,
        images=min(len(plan.boots) for plan in plans),
        boots=min(sum(plan.boots.values()) for plan in plans),
        at_first=images_needed(world.looked_for, noise or learn([])),
    )


def _boot(bench: _Bench, known: Sequence[VariantPlan], wanted: Sequence[VariantPlan]) -> None:
    """What is wanted and not yet booted."""
    for side, (before, after) in enumerate(zip(known, wanted, strict=True)):
        for image, boots in after.boots.items():
            bench.boot(side, image, boots - before.boots.get(image, 0))


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
