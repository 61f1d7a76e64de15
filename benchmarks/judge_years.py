"""Simulated years for the judge: false mails, power and delay, creep, and mixed years.

A year has no end here: commits are counted. Each row is a dictionary for the JSON file; all
randomness comes from the seed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.judge_farm import Farm, World
from buildbot_bench.core.judge.model import Alarm
from buildbot_bench.core.model.learn import learn

Row = dict[str, Any]

HISTORY = 60  # commits before a planted change
LEARNT_FROM = 400  # commits that taught the noise


def false_mails(world: World, commits: int, seed: int) -> Row:
    """Commits that change nothing, from an empty database on, one workload of three."""
    farm = Farm(world=world, rng=np.random.default_rng(seed))
    alarms = sum(isinstance(farm.commit(position), Alarm) for position in range(commits))
    return {
        "commits": commits,
        "alarms": alarms,
        "per_1000_commits_x_3": 3000 * alarms / commits,
        "iterations_per_commit": farm.boots_total / commits,
        "images_per_commit": farm.images_total / commits,
    }


def power(world: World, effect: float, replicates: int, seed: int, *, ramp: int = 1) -> Row:
    """A change of `effect`, spread over `ramp` commits, in a farm that knows its noise.

    Told are the share of changes that were mailed at their commit, by the next one, and within
    ten commits (of a creep: of its end), the median delay (None: most were not), the iterations
    from the change to the mail, and how many intervals held the true effect since the anchor.
    """
    rng = np.random.default_rng(seed)
    delays, boots, covered = [], 0, 0
    for _ in range(replicates):
        farm = _settled(_changed(world, effect, ramp), rng)
        before = farm.boots_total
        delay = math.inf
        for position in range(HISTORY, HISTORY + ramp + 10):
            verdict = farm.commit(position)
            if isinstance(verdict, Alarm):
                delay = position - HISTORY
                covered += verdict.low <= _truth(farm.world, verdict, position) <= verdict.high
                break
        boots += farm.boots_total - before
        delays.append(delay)
    mailed = np.array(delays)
    median = np.median(mailed)
    return {
        "effect": effect,
        "ramp": ramp,
        "replicates": replicates,
        "at_the_commit": float(np.mean(mailed <= 0)),
        "by_the_next": float(np.mean(mailed <= 1)),
        "within_10": float(np.mean(mailed <= ramp + 9)),
        "median_delay_commits": float(median) if math.isfinite(median) else None,
        "iterations_until_mail": boots / replicates,
        "interval_holds_truth": covered / max(int(np.isfinite(mailed).sum()), 1),
    }


def _truth(world: World, alarm: Alarm, position: int) -> float:
    """The effect between an alarm's anchor and the commit that raised it."""
    return math.expm1(world.effect(position) - world.effect(alarm.anchor))


def mixed_years(world: World, commits: int, seed: int, *, every: int = 100) -> Row:
    """A change of 2 to 25 %, up or down, at every hundredth commit or so: which alarms are true?

    An alarm is right when a change of its sign lies in its range of commits.
    """
    rng = np.random.default_rng(seed)
    changes = np.where(rng.random(commits) < 1 / every, _sizes(rng, commits), 0.0)
    changes[:HISTORY] = 0.0
    levels = np.cumsum(changes).tolist()
    farm = Farm(world=_with_levels(world, levels), rng=rng)
    right, wrong, surely_right, sure = 0, 0, 0, 0
    known: set[int] = set()
    for position in range(commits):
        verdict = farm.commit(position)
        if not isinstance(verdict, Alarm):
            continue
        span = range(verdict.first, position + 1)
        hits = {p for p in span if changes[p] * verdict.effect > 0}
        right, wrong = right + bool(hits), wrong + (not hits)
        surely_right += bool(hits) and verdict.probability >= 0.99
        sure += verdict.probability >= 0.99
        known |= hits
    planted = {p for p in range(commits) if changes[p]}
    return {
        "commits": commits,
        "changes": len(planted),
        "found": len(planted & known),
        "alarms_right": right,
        "alarms_wrong": wrong,
        "said_99_percent_sure": sure,
        "of_these_right": surely_right / max(sure, 1),
        "iterations_per_commit": farm.boots_total / commits,
    }


def _with_levels(world: World, levels: Sequence[float]) -> World:
    """The world with the code's level taken from a table."""
    return replace(world, effect=lambda position: levels[position])


def _sizes(rng: np.random.Generator, number: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    sizes = np.exp(rng.uniform(math.log(0.02), math.log(0.25), number))
    return np.asarray(np.log1p(sizes) * rng.choice((-1.0, 1.0), number))


def _changed(world: World, effect: float, ramp: int) -> World:
    """The level falls or rises in `ramp` equal steps from commit HISTORY on."""
    levels = [
        math.log1p(effect) * min(max(position - HISTORY + 1, 0), ramp) / ramp
        for position in range(HISTORY + ramp + 10)
    ]
    return _with_levels(world, levels)


def _settled(world: World, rng: np.random.Generator) -> Farm:
    """A farm with a quiet history that has learnt its noise from a longer one."""
    quiet = replace(world, effect=lambda _position: 0.0)
    teacher = Farm(world=quiet, rng=rng)
    teacher.warm_up(LEARNT_FROM)
    noise = learn(teacher.samples(0, LEARNT_FROM))
    farm = Farm(world=world, rng=rng, noise=noise, learning=False)
    farm.warm_up(HISTORY)
    return farm
