"""`python -m benchmarks factors`: how often intervals of effects and interactions hold the truth.

A patch and one or two tunables, all combinations, five boots of each. Cells that differ in tunables
alone boot the same images, each of which is off by luck with its layout.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, expm1

import numpy as np

from benchmarks.scale import seeds_of
from benchmarks.verdicts import Verdict, of_share
from buildbot_bench.core.compare.factors import factors
from buildbot_bench.core.compare.model import FactorAnswer, SeriesValues, SimpleEffect
from buildbot_bench.core.compare.variants import cell_label
from buildbot_bench.core.metric import PPS
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise

DESIGNS, QUICK = 400, 100
LEAST = 0.93
_SIGMA, _BOOTS = 0.006, 5
_LEVEL = 500_000.0
_PATCH = "patch"
_SIZES = (-0.46, -0.05, 0.0, 0.02, 1.6)  # of effects, as fractions: netbenches' D58513, and smaller


@dataclass(frozen=True, kw_only=True)
class World:
    """A design: its tunables, the images of each kernel, their luck (a fraction), lost cells.

    `is_known` says whether the series' history tells how large luck and noise are.
    """

    tunables: int = 1
    images: int = 1
    luck: float = 0.016
    lost: int = 0
    is_known: bool = True


WORLDS = {
    "2 x 2, one image each": World(),
    "2 x 2, three images each": World(images=3),
    "2 x 2, no history": World(is_known=False),
    "2 x 2 x 2, one cell lost": World(tunables=2, lost=1),
    "2 x 2, no luck of images": World(luck=0.0),
}


@dataclass(frozen=True, kw_only=True)
class Held:
    """Whether one interval holds the truth; `kind` is what it is of."""

    kind: str
    holds: bool


def held(world: World, seed: int) -> list[Held]:
    """Those of all intervals that one comparison states."""
    rng = np.random.default_rng(seed)
    names = (_PATCH, *(f"t{n}" for n in range(world.tunables)))
    alone = {name: np.log1p(rng.choice(_SIZES)) for name in names}
    together = {name: np.log1p(rng.choice(_SIZES)) for name in names[1:]}
    cells = [dict(zip(names, levels, strict=True)) for levels in product("01", repeat=len(names))]

    def truth(cell: dict[str, str]) -> float:
        on = {name for name, level in cell.items() if level == "1"}
        both = sum(together[name] for name in on - {_PATCH}) if _PATCH in on else 0.0
        return float(sum(alone[name] for name in on) + both)

    luck = rng.normal(0.0, world.luck, (2, world.images))
    lost = set(rng.choice(range(1, len(cells)), world.lost, replace=False).tolist())
    values = [
        tuple(
            _LEVEL * exp(truth(cell) + luck[int(cell[_PATCH])][image] + rng.normal(0.0, _SIGMA))
            for image in range(world.images)
            for _ in range(0 if number in lost else _BOOTS)
        )
        for number, cell in enumerate(cells)
    ]
    series = SeriesValues(
        testbed="simulated",
        workload="forwarding",
        metric=PPS,
        values=tuple(values),
        kernels=tuple(int(cell[_PATCH]) for cell in cells),
        booted=tuple(
            tuple(image for image in range(world.images) for _ in range(_BOOTS)) if own else ()
            for own in values
        ),
        noise=_known(world) if world.is_known else None,
    )
    answer = factors(series, [cell_label(cell) for cell in cells], confidence=95.0)
    if answer is None:
        raise AssertionError(series)
    return list(_held(answer, alone, together))


def _known(world: World) -> Noise:
    nothing = learn([])
    return Noise(sigma_run=_SIGMA, sigma_build=world.luck, df_run=100.0, df_build=nothing.df_build)


def _held(
    answer: FactorAnswer, alone: dict[str, float], together: dict[str, float]
) -> Iterator[Held]:
    """Each interval against the logs of the true effects and of what they do together."""

    def holds(low: float, high: float, true: float) -> bool:
        return low <= expm1(true) <= high

    def of(effect: SimpleEffect) -> float:
        others = together if effect.factor == _PATCH else {_PATCH: together[effect.factor]}
        share = {name: float(level) for name, level in effect.at.items()}
        # Of a main effect, the other factors are on in half of the cells.
        return alone[effect.factor] + sum(
            share.get(name, 0.5) * own for name, own in others.items()
        )

    for kind, effects in (("main", answer.main), ("simple", answer.simple)):
        for one in effects:
            yield Held(kind=kind, holds=holds(one.low, one.high, of(one)))
    for both in answer.interactions:
        other = next((name for name in both.factors if name != _PATCH), "")
        true = together[other] if _PATCH in both.factors else 0.0
        yield Held(kind="interaction", holds=holds(both.low, both.high, true))


def main(argv: Sequence[str] | None = None) -> int:
    """Print each world's share of intervals that hold the truth; 1 if one misses what is wanted."""
    seeds = seeds_of(argv, "factors", __doc__, usual=DESIGNS, quick=QUICK)
    worst = Verdict.REACHED
    print(f"{'':26s}  main  simple  interaction")
    for name, world in WORLDS.items():
        found = [one for seed in seeds for one in held(world, seed)]
        shares: list[str] = []
        for kind in ("main", "simple", "interaction"):
            own = [one.holds for one in found if one.kind == kind]
            if not own:  # a main effect needs all cells
                shares.append("none")
                continue
            # The intervals of one comparison share its boots: each comparison counts once.
            missed = round(len(seeds) * own.count(False) / len(own))
            told_of = of_share(missed, len(seeds), 1 - LEAST)
            worst = told_of if told_of is Verdict.MISSED else worst
            shares.append(f"{own.count(True) / len(own):.1%} {told_of}")
        print(f"{name:26s}  {'  '.join(shares)}", flush=True)
    return 1 if worst is Verdict.MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
