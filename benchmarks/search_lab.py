"""A simulated range of revisions and its lab, which counts what a search spends."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from buildbot_bench.core.search import Costs, Measurement

COSTS = Costs(build_s=1200.0, boot_s=180.0, run_s=120.0)
DRIFT_S = 4 * 3600.0

Steps = dict[int, float]


@dataclass(frozen=True, kw_only=True)
class World:
    """What is true of a family of ranges; noise in ln(value), effects as fractions.

    `steps` draws the planted ones: commit → effect. `modes` is (share of boots, offset) of a second
    mode; `drift` the standard deviation of an Ornstein-Uhlenbeck process over DRIFT_S; `broken` the
    share of untestable revisions, in clusters of four on average; `known` how many values of the
    old and the new end are there before the search.
    """

    n: int
    steps: Callable[[np.random.Generator, int], Steps]
    sigma_run: float = 0.005
    sigma_build: float = 0.0
    outliers: float = 0.0
    modes: tuple[float, float] | None = None
    drift: float = 0.0
    broken: float = 0.0
    known: tuple[int, int] = (0, 0)


def single(effect: float) -> Callable[[np.random.Generator, int], Steps]:
    """One step of that effect, at any commit."""
    return lambda rng, n: {int(rng.integers(1, n + 1)): effect}


def nothing(_rng: np.random.Generator, _n: int) -> Steps:
    """No step at all."""
    return {}


def neighbours(rng: np.random.Generator, n: int) -> Steps:
    """A large step and a small one, of either sign, right behind it."""
    commit = int(rng.integers(1, n))
    return {commit: 0.2, commit + 1: float(rng.choice([-0.03, 0.03]))}


def iflib(rng: np.random.Generator, n: int) -> Steps:
    """The shape of r311848…r313448: down at the first commit, up twice in a row, down again."""
    up, down = sorted(int(c) for c in rng.choice(np.arange(3, n), 2, replace=False))
    return {1: -0.256, up: 0.23, up + 1: 0.022, down + 1: -0.136}


@dataclass
class Lab:
    """One range drawn from a world; policies may call `boot`, `testable` and nothing else."""

    world: World
    seed: int
    iterations: int = 0
    images: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        world = self.world
        self.steps = world.steps(self._rng, world.n)
        self._level = np.zeros(world.n + 1)
        for commit, effect in self.steps.items():
            self._level[commit:] += np.log1p(effect)
        self.broken = self._clusters()
        self._layout: dict[tuple[int, int], float] = {}
        self._wander = 0.0
        self.clock_s = 0.0

    def boot(self, position: int, image: int = 0) -> float:
        """ln(value) of one iteration."""
        self.images.add((position, image))
        self.iterations += 1
        return self._draw(position, image)

    def testable(self, position: int) -> bool:
        """Build it and see."""
        if position in self.broken:
            self.images.add((position, 0))
        return position not in self.broken

    def measure(self, position: int, image: int) -> Measurement:
        """One iteration as the search wants it."""
        y = self.boot(position, image)
        return Measurement(position=position, image=image, value=np.exp(y), at_s=self.clock_s)

    def known(self) -> tuple[Measurement, ...]:
        """What was measured before, not counted."""
        old, new = self.world.known
        ends = [0] * old + [self.world.n] * new
        return tuple(Measurement(position=p, value=float(np.exp(self._draw(p, 0)))) for p in ends)

    def expected(self) -> set[tuple[int, int]]:
        """The right answer: (old, new] around each step, wider where revisions are untestable."""
        pairs = set()
        for commit in self.steps:
            old, new = commit - 1, commit
            while old in self.broken:
                old -= 1
            while new in self.broken:
                new += 1
            pairs.add((old, new))
        return pairs

    def _draw(self, position: int, image: int) -> float:
        world, rng = self.world, self._rng
        key = (position, image)
        if key not in self._layout:
            self._layout[key] = rng.normal(0, world.sigma_build) if world.sigma_build else 0.0
        y = self._level[position] + self._layout[key] + rng.normal(0, world.sigma_run)
        if world.modes and rng.random() < world.modes[0]:
            y += world.modes[1]
        if world.outliers and rng.random() < world.outliers:
            y += np.log1p(rng.uniform(-0.2, -0.05))
        elapsed_s = COSTS.build_s + COSTS.boot_s + COSTS.run_s
        self.clock_s += elapsed_s
        if world.drift:
            kept = np.exp(-elapsed_s / DRIFT_S)
            self._wander = kept * self._wander + rng.normal(0, world.drift * np.sqrt(1 - kept**2))
        return float(y + self._wander)

    def _clusters(self) -> frozenset[int]:
        broken: set[int] = set()
        while len(broken) < self.world.broken * self.world.n:
            first = int(self._rng.integers(1, self.world.n))
            length = int(self._rng.geometric(0.25))
            broken.update(range(first, min(first + length, self.world.n)))
        return frozenset(broken)
