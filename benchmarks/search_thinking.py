"""How long one plan takes for long ranges and many measurements; it searches nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.search_lab import COSTS
from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy, plan

MOST_MS = 50.0
_MEASUREMENTS = 100
_REPEATS = 5


@dataclass(frozen=True, kw_only=True)
class Load:
    """A range with its steps (commit → ln of its effect), and what is told of the noise."""

    name: str
    n: int
    steps: dict[int, float]
    policy: SearchPolicy


_SEVERAL = {1: -0.29, 900: 0.2, 901: 0.03, 2500: -0.14}
_TOLD = SearchPolicy(sigma_run=0.005, sigma_build=0.0)
_LAYOUT = SearchPolicy(sigma_run=0.005, sigma_build=0.007)
LOADS = (
    Load(name="1600 commits, one step", n=1600, steps={700: -0.05}, policy=_TOLD),
    Load(name="1600 commits, one step, build noise", n=1600, steps={700: -0.05}, policy=_LAYOUT),
    Load(name="3000 commits, four steps", n=3000, steps=_SEVERAL, policy=_TOLD),
    Load(name="3000 commits, four steps, build noise", n=3000, steps=_SEVERAL, policy=_LAYOUT),
    Load(
        name="3000 commits, four steps, no noise told",
        n=3000,
        steps=_SEVERAL,
        policy=SearchPolicy(),
    ),
)


def thinking() -> list[dict[str, float | str]]:
    """Milliseconds of processor time that a plan takes with 100 measurements, the least of five."""
    print(f"\na plan with {_MEASUREMENTS} measurements (wanted: ≤ {MOST_MS:g} ms)")
    table: list[dict[str, float | str]] = []
    for load in LOADS:
        taken_ms = 1e3 * min(_once(load) for _ in range(_REPEATS))
        table.append({"load": load.name, "ms": taken_ms, "of_wanted": taken_ms / MOST_MS})
        print(f"  {load.name:40s} {taken_ms:5.1f} ms, {taken_ms / MOST_MS:.2f} of what is wanted")
    return table


def _once(load: Load) -> float:
    evidence = _evidence(load)
    began_s = time.process_time()
    plan(load.n, evidence, COSTS, load.policy)
    return time.process_time() - began_s


def _evidence(load: Load) -> Evidence:
    """Boots at positions drawn evenly, one after the other."""
    rng = np.random.default_rng(1)
    level = np.zeros(load.n + 1)
    for commit, change in load.steps.items():
        level[commit:] += change
    inside = rng.integers(0, load.n + 1, _MEASUREMENTS - 2)
    values = [
        Measurement(
            position=position,
            value=float(np.exp(level[position] + rng.normal(0, 0.005))),
            at_s=serial * (COSTS.boot_s + COSTS.run_s),
        )
        for serial, position in enumerate([0, load.n, *inside.tolist()])
    ]
    return Evidence(measurements=tuple(values))
