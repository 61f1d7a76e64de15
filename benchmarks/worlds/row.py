"""A row of the table: a world, the search's assumptions, and the targets."""

from dataclasses import dataclass

from benchmarks.worlds.lab import World
from buildbot_bench.core.search import SearchPolicy

# Of all searches, stated at 99 % and not there; where noise is as told, fewer.
WRONG, WRONG_AS_TOLD = 0.01, 0.004
NAMED = 0.9  # the share of the searches with a culprit that name it
MOST = 600  # boots; none of these searches is worth more


@dataclass(frozen=True, kw_only=True)
class Row:
    """A world, what the search is told of it, and what is wanted: boots on average, shares.

    `failed` is the most builds that may fail in any search. `many` rows are about rare errors, and
    get three times the replicates. `alarm`: the search begins with the boots that raise an alarm.
    `versus` names the row that this one may cost `more` boots than.
    """

    name: str
    world: World
    policy: SearchPolicy
    boots: float | None = None
    wrong: float | None = WRONG
    named: float | None = None
    proved: float | None = None
    sloped: float | None = None
    failed: int | None = None
    versus: str = ""
    more: float = 0.0
    many: bool = False
    alarm: bool = False


def told(
    claimed: float | None = None, run: float = 0.005, build: float = 0.0, least: float = 0.02
) -> SearchPolicy:
    """What a search is told: the claim, run and build noise, and min_effect."""
    return SearchPolicy(
        claimed=claimed, sigma_run=run, sigma_build=build, min_effect=least, max_measurements=MOST
    )
