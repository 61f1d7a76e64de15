"""A simulated lab that boots images of a range and counts what a search spends.

ln(value) = level(position) + luck(position, image) + hours(clock) + boot. What is drawn for a boot,
an image and an hour comes from streams of their own, so that two searches of one lab meet the same
luck where they ask the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.worlds.disturbances import ByBoot, ByHour
from benchmarks.worlds.ranges import Draw, Range, Rng
from buildbot_bench.core.search import Costs, Measurement

# Boots of each end when an alarm is raised, and the value below which one of the new end is slow.
_ALARM, _SLOW = 3, 0.96
COSTS = Costs(build_s=1200.0, boot_s=180.0, run_s=120.0)


@dataclass(frozen=True, kw_only=True)
class Tail:
    """A share of the images lies off by `far`, a fraction: slow, or either way."""

    share: float
    far: float
    both_ways: bool = False


@dataclass(frozen=True, kw_only=True)
class World:
    """What is true of a family of ranges: standard deviations in ln(value), and what disturbs.

    `hours` and `boots` draw for each lab what it adds by the hour and by the boot. With a `race`
    steps show in that share of the boots alone.
    """

    n: int
    commits: Draw
    sigma_run: float = 0.005
    sigma_build: float = 0.0
    tail: Tail | None = None
    race: float | None = None
    hours: tuple[Callable[[Rng], ByHour], ...] = ()
    boots: tuple[Callable[[Rng], ByBoot], ...] = ()


@dataclass
class Lab:
    """One range drawn from a world. `built` and `failed` are the images that were asked for."""

    world: World
    seed: int
    boots: int = 0
    clock_s: float = 0.0
    built: set[tuple[int, int]] = field(default_factory=set)
    failed: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        truth, hours, self._boot = (np.random.default_rng([self.seed, k]) for k in range(3))
        world = self.world
        self.range: Range = world.commits(truth, world.n)
        self._level = np.zeros(world.n + 1)
        for commit, effect in self.range.steps.items():
            self._level[commit:] += np.log1p(effect)
        self._hours = [draw(hours) for draw in world.hours]
        self._boots = [draw(hours) for draw in world.boots]

    @property
    def builds(self) -> int:
        """All that were asked for, those that failed among them."""
        return len(self.built) + len(self.failed)

    def measure(self, position: int, image: int) -> Measurement | None:
        """One iteration, the image built first if it is not there; None where it does not build."""
        key = (position, image)
        if key not in self.built:
            self.clock_s += COSTS.build_s
            if position in self.range.untestable:
                self.failed.add(key)
                return None
            self.built.add(key)
        self.clock_s += COSTS.boot_s
        value = float(np.exp(self._draw(position, image)))
        measured = Measurement(position=position, image=image, value=value, at_s=self.clock_s)
        self.clock_s += COSTS.run_s
        self.boots += 1
        return measured

    def alarm(self) -> tuple[Measurement, ...]:
        """Three boots of the old end, and of the new one until it has three and one was slow."""
        old = [self.measure(0, 0) for _ in range(_ALARM)]
        new: list[Measurement | None] = []
        while len(new) < _ALARM or min(m.value for m in new if m) > _SLOW:
            new.append(self.measure(self.world.n, 0))
        return tuple(m for m in (*old, *new) if m)

    def effect(self, old: int, new: int) -> float:
        """The true change of the level in (old, new], as a fraction."""
        return float(np.expm1(self._level[new] - self._level[old]))

    def place(self, commit: int) -> tuple[int, int]:
        """(old, new] around a commit, between the nearest revisions that build."""
        old, new = commit - 1, commit
        while old in self.range.untestable:
            old -= 1
        while new in self.range.untestable:
            new += 1
        return old, new

    def _draw(self, position: int, image: int) -> float:
        shows = self.world.race is None or self._boot.random() < self.world.race
        level = (self._level[position] if shows else 0.0) + self._luck(position, image)
        level += self._boot.normal(0, self.world.sigma_run)
        level += sum(offset(self.clock_s) for offset in self._hours)
        return float(level + sum(offset(self._boot) for offset in self._boots))

    def _luck(self, position: int, image: int) -> float:
        rng = np.random.default_rng([self.seed, 3, position, image])
        luck = float(rng.normal(0, 1) * self.world.sigma_build)
        tail = self.world.tail
        if tail and rng.random() < tail.share:
            sign = rng.choice([-1, 1]) if tail.both_ways else -1
            luck += float(np.log1p(sign * tail.far))
        return luck
