"""A simulated farm for the judge: commits arrive, kernels are booted, requests are measured.

The truth is hidden from the judge, and all draws come from one seeded generator.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import JudgePolicy, Settled, Suspicion, Verdict, settled_by
from buildbot_bench.core.model.learn import auto_iterations, learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import Iteration, Sample

BOOT_S = 120.0
COMMIT_S = 1800.0  # between commits
DRIFT_S = 4 * 3600.0
LOOK_BACK = 60  # positions that are handed to the judge; it looks at 40
LEARN_EVERY = 20  # commits, or when there is a tenth more of them


@dataclass(frozen=True, kw_only=True)
class World:
    """What is true: `effect(position)` is the code's ln level; noise in ln(value), too.

    Boots of one image scatter by `sigma_run`, images of one code by `sigma_build`, normally. A
    share `far_share` of the images is off by `far_effect`, a fraction; with `far_signs` as often
    up as down.
    `outliers` is the share of boots that lose 5 to 20 %. `drift` is how far the lab wanders (a
    standard deviation), within DRIFT_S or so (an Ornstein-Uhlenbeck process).
    """

    sigma_run: float
    sigma_build: float = 0.0
    outliers: float = 0.0
    drift: float = 0.0
    far_share: float = 0.0
    far_effect: float = 0.0
    far_signs: bool = False
    effect: Callable[[int], float] = lambda _position: 0.0


@dataclass(kw_only=True)
class Farm:
    """One testbed and workload with all that was measured on it."""

    world: World
    rng: np.random.Generator
    policy: JudgePolicy = field(default_factory=JudgePolicy)
    iterations: int | None = None
    learning: bool = True
    learn_at: int = 0
    boots: dict[int, dict[int, list[Iteration]]] = field(default_factory=dict)
    layout: dict[tuple[int, int], float] = field(default_factory=dict)
    clock_s: float = 0.0
    wander: float = 0.0
    rounds: int = 0
    noise: Noise | None = None
    settled: list[Settled] = field(default_factory=list)

    def boot(self, position: int, image: int = 0, times: int = 1) -> None:
        """Measure an image."""
        key = (position, image)
        if key not in self.layout:
            self.layout[key] = self._luck()
        level = self.world.effect(position) + self.layout[key]
        for _ in range(times):
            self._wait(BOOT_S)
            log = level + self.wander + self.rng.normal() * self.world.sigma_run
            if self.world.outliers and self.rng.random() < self.world.outliers:
                log -= self.rng.uniform(0.05, 0.2)
            iteration = Iteration(value=1e6 * float(np.exp(log)), at_s=self.clock_s)
            self.boots.setdefault(position, {}).setdefault(image, []).append(iteration)

    def _luck(self) -> float:
        world, rng = self.world, self.rng
        luck = rng.normal() * world.sigma_build
        if world.far_share and rng.random() < world.far_share:
            sign = rng.choice((-1.0, 1.0)) if world.far_signs else 1.0
            luck += float(np.log1p(sign * world.far_effect))
        return float(luck)

    def _wait(self, duration_s: float) -> None:
        self.clock_s += duration_s
        kept = float(np.exp(-duration_s / DRIFT_S))
        news = self.world.drift * float(np.sqrt(1 - kept**2))
        self.wander = kept * self.wander + self.rng.normal() * news

    def samples(self, first: int, last: int) -> list[Sample]:
        """What was measured at the positions first..last."""
        return [
            Sample(label=f"n{position}", position=position, image=image, iterations=tuple(boots))
            for position in range(max(first, 0), last + 1)
            for image, boots in self.boots.get(position, {}).items()
        ]

    def warm_up(self, commits: int) -> None:
        """Commits 0..commits-1 were measured before the story begins; none was suspicious."""
        for position in range(commits):
            self._wait(COMMIT_S)
            self.boot(position, times=self.iterations or (5 if position < 8 else 1))
            lone = self.boots[position][0][0].value or 0.0
            if abs(np.log(lone / 1e6)) > 5 * (self.world.sigma_run + self.world.sigma_build):
                self.boot(position, times=2)

    def commit(self, position: int) -> Verdict:
        """Screen a new commit and measure what the judge asks for, until it is content."""
        if self.noise is None or (self.learning and position >= self.learn_at):
            self.noise = learn(self.samples(0, position - 1))
            self.learn_at = position + max(position // 10, LEARN_EVERY)
        self._wait(COMMIT_S)
        self.boot(position, times=self.iterations or auto_iterations(self.noise))
        while True:
            known = self.samples(position - LOOK_BACK, position)
            new = next(s for s in known if (s.position, s.image) == (position, 0))
            history = [s for s in known if s is not new]
            verdict = judge(history, new, self.noise, self.policy, self.settled)
            if not isinstance(verdict, Suspicion):
                self._settle(verdict, position)
                return verdict
            self.rounds += 1
            for request in verdict.remeasure:
                self.boot(request.position, request.image, request.iterations)

    def _settle(self, verdict: Verdict, position: int) -> None:
        """Keep what the farm's tables would."""
        if one := settled_by(verdict, position, self.policy.min_effect):
            self.settled.append(one)

    @property
    def boots_total(self) -> int:
        """How many iterations were run so far."""
        return sum(len(boots) for images in self.boots.values() for boots in images.values())

    @property
    def images_total(self) -> int:
        """How many images were built so far."""
        return sum(map(len, self.boots.values()))
