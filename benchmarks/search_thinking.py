"""The time that one plan takes, for long ranges and many measurements."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.search_lab import COSTS
from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy, forecast, plan

# By the number of measurements, milliseconds of one core that a plan may take.
MOST_MS = {100: 50.0, 400: 50.0, 1500: 250.0}
_REPEATS = 5
MOST_FORECAST_S = 2.0  # seconds that a forecast may take


@dataclass(frozen=True, kw_only=True)
class Load:
    """A range with its steps (commit → ln of its effect), and what is told of the noise.

    Boots scatter by `sigma_run` and images by `sigma_build`, in ln. A `scattered` load has its
    boots at positions drawn evenly; others where a bisection towards each step boots.
    """

    name: str
    n: int
    steps: dict[int, float]
    policy: SearchPolicy
    sigma_run: float = 0.005
    sigma_build: float = 0.0
    scattered: bool = False


_SEVERAL = {1: -0.29, 900: 0.2, 901: 0.03, 2500: -0.14}
_FAR_APART = {1: -0.29, 6000: 0.2, 6001: 0.03, 15000: -0.14}
_TOLD = SearchPolicy(sigma_run=0.005, sigma_build=0.0)
_LAYOUT = SearchPolicy(sigma_run=0.005, sigma_build=0.007)
_scattered = partial(Load, scattered=True)
_long = partial(Load, n=20000, steps=_FAR_APART)
SCATTERED = (
    _scattered(name="1600 commits, one step", n=1600, steps={700: -0.05}, policy=_TOLD),
    _scattered(
        name="1600 commits, one step, build noise", n=1600, steps={700: -0.05}, policy=_LAYOUT
    ),
    _scattered(name="3000 commits, four steps", n=3000, steps=_SEVERAL, policy=_TOLD),
    _scattered(
        name="3000 commits, four steps, build noise", n=3000, steps=_SEVERAL, policy=_LAYOUT
    ),
    _scattered(
        name="3000 commits, four steps, no noise told",
        n=3000,
        steps=_SEVERAL,
        policy=SearchPolicy(),
    ),
)
LONG = (
    _long(
        name="20000 commits, one small step",
        steps={7000: -0.01},
        sigma_run=0.01,
        policy=SearchPolicy(sigma_run=0.01, sigma_build=0.0, min_effect=0.01),
    ),
    _long(name="20000 commits, four steps", policy=_TOLD),
    _long(name="20000 commits, four steps, build noise", sigma_build=0.007, policy=_LAYOUT),
    _long(name="20000 commits, four steps, no noise told", policy=SearchPolicy()),
    _long(
        name="20000 commits, four steps, build noise, none told",
        sigma_run=0.01,
        sigma_build=0.01,
        policy=SearchPolicy(),
    ),
)
# More different kernels than a search asks for: what the time grows with, the worst that may come.
_WORST = _scattered(
    name="20000 commits, four steps, at as many positions", n=20000, steps=_FAR_APART, policy=_TOLD
)
LOADS = {100: (*SCATTERED, *LONG), 400: (*LONG, _WORST), 1500: (*LONG, _WORST)}


def thinking() -> list[dict[str, float | str]]:
    """Milliseconds of processor time that a plan takes, the least of five."""
    table: list[dict[str, float | str]] = []
    for count, loads in LOADS.items():
        print(f"\na plan with {count} measurements (wanted: ≤ {MOST_MS[count]:g} ms)")
        for load in loads:
            evidence = _evidence(load, count)
            taken_ms = 1e3 * min(_once(load, evidence) for _ in range(_REPEATS))
            share = taken_ms / MOST_MS[count]
            table.append(
                {
                    "load": load.name,
                    "measurements": count,
                    "kernels": len({m.position for m in evidence.measurements}),
                    "ms": taken_ms,
                    "of_wanted": share,
                }
            )
            print(f"  {load.name:50s} {taken_ms:5.1f} ms, {share:.2f} of what is wanted")
    _forecasts()
    return table


def _forecasts() -> None:
    """Print seconds of processor time that forecasts take, before the first boot and after 400."""
    print(f"\na forecast (wanted: ≤ {MOST_FORECAST_S:g} s)")
    for load in (*LONG, _WORST):
        for count in (0, 400):
            known = _evidence(load, count) if count else None
            began_s = time.process_time()
            forecast(load.n, COSTS, load.policy, known)
            taken_s = time.process_time() - began_s
            print(f"  {load.name:56s} {count:3d} boots: {taken_s:4.2f} s")


def _once(load: Load, evidence: Evidence) -> float:
    began_s = time.process_time()
    plan(load.n, evidence, COSTS, load.policy)
    return time.process_time() - began_s


def _evidence(load: Load, count: int) -> Evidence:
    """So many boots, one after the other; where images differ, of four images of each position."""
    rng = np.random.default_rng(1)
    level = np.zeros(load.n + 1)
    for commit, change in load.steps.items():
        level[commit:] += change
    halves = {half for commit in load.steps for half in _halving(load.n, commit)}
    where = np.arange(load.n + 1) if load.scattered else np.array(sorted(halves))
    inside = where[rng.integers(0, len(where), count - 2)]
    images = 1 if load.scattered or not load.sigma_build else 4
    layout = load.sigma_build * rng.normal(size=(load.n + 1, images)) if images > 1 else None
    values = []
    for serial, position in enumerate([0, load.n, *inside.tolist()]):
        image = 0 if layout is None else int(rng.integers(images))
        offset = 0.0 if layout is None else layout[position, image]
        read = level[position] + offset + rng.normal(0, load.sigma_run)
        values.append(
            Measurement(
                position=position,
                image=image,
                value=float(np.exp(read)),
                at_s=serial * (COSTS.boot_s + COSTS.run_s),
            )
        )
    return Evidence(measurements=tuple(values))


def _halving(n: int, commit: int) -> Iterator[int]:
    """The positions that a bisection of 0..n towards a commit looks at."""
    old, new = 0, n
    yield from (old, new)
    while new - old > 1:
        middle = (old + new) // 2
        yield middle
        old, new = (old, middle) if commit <= middle else (middle, new)
