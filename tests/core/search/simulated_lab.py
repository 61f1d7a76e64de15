"""A lab in memory: levels with planted steps, noise and broken revisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from buildbot_bench.core.search import (
    Answer,
    Costs,
    Evidence,
    Measure,
    Measurement,
    SearchPolicy,
    plan,
)

COSTS = Costs(build_s=1200, boot_s=180, run_s=120)


@dataclass
class Lab:
    """Answers requests; `steps` maps a commit to its effect.

    `warming` is what the lab slows down by per hour, in ln; an iteration then takes 25 minutes.
    """

    n: int
    steps: Mapping[int, float]
    sigma_run: float = 0.005
    sigma_build: float = 0.0
    broken: frozenset[int] = frozenset()
    same: frozenset[int] = frozenset()
    seed: int = 0
    power: float = 1.0
    warming: float = 0.0
    clock_s: float = 0.0
    asked: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._images: dict[tuple[int, int], float] = {}
        self._level = np.zeros(self.n + 1)
        for commit, effect in self.steps.items():
            self._level[commit:] += np.log1p(effect)

    def boot(self, position: int, image: int = 0) -> Measurement:
        while position in self.same:
            position -= 1
        key = (position, image)
        if key not in self._images:
            self._images[key] = self._random.normal(0, self.sigma_build)
        y = self._level[position] + self._images[key] + self._random.normal(0, self.sigma_run)
        if self.warming:
            self.clock_s += 1500.0
            y -= self.warming * self.clock_s / 3600
        value = 1e6 * np.exp(self.power * y)
        return Measurement(position=position, image=image, value=value, at_s=self.clock_s)


def search(
    lab: Lab, policy: SearchPolicy, known: tuple[Measurement, ...] = ()
) -> tuple[Answer, Evidence]:
    """Do what the plan says until it answers."""
    evidence = Evidence(measurements=known, same_as_previous=lab.same)
    while isinstance(request := plan(lab.n, evidence, COSTS, policy), Measure):
        assert request.position not in evidence.untestable
        assert not evidence.untestable.intersection(request.prefetch)
        assert not evidence.built.intersection(request.prefetch)
        lab.asked.append((request.position, request.image))
        evidence = _after(evidence, lab, request)
    return request, evidence


def _after(evidence: Evidence, lab: Lab, request: Measure) -> Evidence:
    position = request.position
    if position in lab.broken:
        return Evidence(
            measurements=evidence.measurements,
            untestable=evidence.untestable | {position},
            built=evidence.built,
            same_as_previous=lab.same,
        )
    return Evidence(
        measurements=(*evidence.measurements, lab.boot(position, request.image)),
        untestable=evidence.untestable,
        built=evidence.built | {position},
        same_as_previous=lab.same,
    )
