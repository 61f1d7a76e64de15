"""The plain field: one clean step of every size in ranges of every length, and build noise.

The plots of benchmarks.plots are drawn from these; they have no targets. Some of them stand among
the cases of benchmarks.search_cases already.
"""

from benchmarks.search_cases import CASES, Case
from benchmarks.search_lab import World, single
from buildbot_bench.core.search import SearchPolicy

LENGTHS = (1, 16, 256, 1600)
STEPS_IN_NOISES = (1.0, 2.0, 5.0, 10.0, 50.0)
SIGMA_RUN = 0.005
BUILD_NOISES = (0.0, 0.01, 0.02)


def _cell(n: int, d: float) -> Case:
    effect = -SIGMA_RUN * d
    return Case(
        name=f"n {n}, step/noise {d:g}",
        world=World(n=n, steps=single(effect), sigma_run=SIGMA_RUN),
        policy=SearchPolicy(
            claimed=effect, sigma_run=SIGMA_RUN, sigma_build=0.0, max_measurements=600
        ),
        d=d,
        peers=True,
    )


def _layout(sigma_build: float) -> Case:
    return Case(
        name=f"n 256, 10 %, boots {SIGMA_RUN:.1%}, builds {sigma_build:.0%}",
        world=World(n=256, steps=single(-0.1), sigma_run=SIGMA_RUN, sigma_build=sigma_build),
        policy=SearchPolicy(
            claimed=-0.1, sigma_run=SIGMA_RUN, sigma_build=sigma_build, max_measurements=600
        ),
        peers=True,
    )


_KNOWN = {case.name for case in CASES}
GRID = tuple(
    case
    for case in (
        *(_cell(n, d) for n in LENGTHS for d in STEPS_IN_NOISES),
        *(_layout(sigma_build) for sigma_build in BUILD_NOISES),
    )
    if case.name not in _KNOWN
)
