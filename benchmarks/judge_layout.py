"""The judge on images that are far off by luck: calm commits, and real drops among them.

Targets are for sigma_run .5 %, sigma_build .2 %: alarms in 1500 commits that change nothing, boots
a commit (screening, suspicions and all), and the share of real drops that the next commit at the
latest tells. Each row carries its verdict.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.judge_farm import World
from benchmarks.judge_years import Row, false_mails, power
from benchmarks.verdicts import Verdict, of_mean, of_share

CALM_COMMITS = 1500
DROP = -0.04
_FOUND = 0.95  # of the drops, by the next commit


@dataclass(frozen=True, kw_only=True)
class Case:
    """A world, the most alarms in CALM_COMMITS, and the most boots a commit."""

    name: str
    world: World
    alarms: float
    boots: float


def _world(share: float, *, signs: bool = False) -> World:
    return World(
        sigma_run=0.005,
        sigma_build=0.002,
        far_share=share,
        far_effect=0.04 if signs else -0.04,
        far_signs=signs,
    )


CASES = {
    case.name: case
    for case in (
        Case(name="3 % of the images 4 % slow", world=_world(0.03), alarms=0, boots=2),
        Case(name="10 % of the images 4 % slow", world=_world(0.1), alarms=2, boots=3),
        Case(name="3 %, slow or fast", world=_world(0.03, signs=True), alarms=0, boots=2),
        Case(name="10 %, slow or fast", world=_world(0.1, signs=True), alarms=2, boots=3),
    )
}


def calm(name: str, years: int, seed: int) -> Row:
    """Calm commits of some farms, each from an empty database on."""
    case = CASES[name]
    rows = [false_mails(case.world, CALM_COMMITS, seed + year) for year in range(years)]
    alarms = sum(row["alarms"] for row in rows)
    boots = np.array([row["iterations_per_commit"] for row in rows])
    error = float(boots.std(ddof=1) / math.sqrt(years)) if years > 1 else 0.0
    return {
        "commits": years * CALM_COMMITS,
        "alarms": alarms,
        f"alarms_in_{CALM_COMMITS}": alarms / years,
        "at_most": case.alarms,
        "verdict": str(_few(alarms, years, case.alarms)),
        "boots_per_commit": float(boots.mean()),
        "boots_at_most": case.boots,
        "boots_verdict": str(of_mean(float(boots.mean()), error, case.boots)),
        "images_per_commit": float(np.mean([row["images_per_commit"] for row in rows])),
    }


def _few(alarms: int, years: int, most: float) -> Verdict:
    """Alarms are rare and independent: Poisson's error."""
    return of_mean(alarms / years, math.sqrt(alarms) / years, most)


def drops(name: str, replicates: int, seed: int) -> Row:
    """Real drops in such a farm: it knows its noise, and the images of the drop may be far, too."""
    row = power(CASES[name].world, DROP, replicates, seed)
    missed = round((1 - row["by_the_next"]) * replicates)
    return {
        "effect": DROP,
        "replicates": replicates,
        "at_the_commit": row["at_the_commit"],
        "by_the_next": row["by_the_next"],
        "at_least": _FOUND,
        "verdict": str(of_share(missed, replicates, 1 - _FOUND)),
        "iterations_until_mail": row["iterations_until_mail"],
        "interval_holds_truth": row["interval_holds_truth"],
    }
