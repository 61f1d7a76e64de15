"""A small simulated farm for the judge's tests, with a truth that the judge does not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import JudgePolicy, Settled, Suspicion, Verdict, settled_by
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import PPS, Iteration, Metric, Sample


def flat(_position: int) -> float:
    return 0.0


@dataclass(kw_only=True)
class Farm:
    """`level(position)` is the logarithm of the code's level; the rest as in core.model."""

    noise: Noise
    level: Callable[[int], float] = flat
    policy: JudgePolicy = JudgePolicy()  # noqa: RUF009 - it is frozen
    metric: Metric = PPS
    seed: int = 1
    boots: dict[tuple[int, int], list[Iteration]] = field(default_factory=dict)
    layout: dict[tuple[int, int], float] = field(default_factory=dict)
    clock_s: float = 0.0
    boot_s: float = 60.0
    rounds: int = 0
    settled: list[Settled] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def boot(self, position: int, image: int = 0, times: int = 1) -> None:
        key = (position, image)
        layout = self.layout.setdefault(key, self.rng.normal() * self.noise.sigma_build)
        for _ in range(times):
            self.clock_s += self.boot_s
            log = self.level(position) + layout + self.rng.normal() * self.noise.sigma_run
            self.boots.setdefault(key, []).append(
                Iteration(value=1e6 * float(np.exp(log)), at_s=self.clock_s)
            )

    def measured(self, positions: range, times: int = 1) -> Farm:
        for position in positions:
            self.boot(position, times=times)
        return self

    def samples(self) -> list[Sample]:
        return [
            Sample(
                label=f"n{position}",
                position=position,
                image=image,
                metric=self.metric,
                iterations=tuple(boots),
            )
            for (position, image), boots in self.boots.items()
        ]

    def split(self, position: int) -> tuple[list[Sample], Sample]:
        samples = [sample for sample in self.samples() if sample.position <= position]
        new = next(s for s in samples if (s.position, s.image) == (position, 0))
        return [sample for sample in samples if sample is not new], new

    def look(self, position: int) -> Verdict:
        history, new = self.split(position)
        return judge(history, new, self.noise, self.policy, self.settled)

    def settle(self, position: int, *, images: bool = True) -> Verdict:
        """Measure what is asked for until the judge is content, as the broker does."""
        verdict = self.look(position)
        while isinstance(verdict, Suspicion):
            self.rounds += 1
            assert self.rounds < 1000, "the judge never ends"
            for request in verdict.remeasure:
                if request.image and not images:
                    self.policy = JudgePolicy(images=False)
                else:
                    self.boot(request.position, request.image, request.iterations)
            verdict = self.look(position)
        if one := settled_by(verdict, position, self.policy.min_effect):
            self.settled.append(one)
        return verdict
