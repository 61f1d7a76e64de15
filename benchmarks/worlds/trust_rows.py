"""The rows on how often a stated 99 % is right where the noise is not as stated."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from benchmarks.worlds.disturbances import (
    bad_hours,
    daily_cycle,
    lost_runs,
    random_walk,
    shift_once,
    slower_mode,
)
from benchmarks.worlds.lab import Tail, World
from benchmarks.worlds.ranges import Draw, nothing, scattered_untestable, single
from benchmarks.worlds.row import NAMED, WRONG, WRONG_AS_TOLD, Row, told
from buildbot_bench.core.search import SearchPolicy

CULPRIT, SMALLER, NONE = "-4 %", "-2.5 %", "nothing there, claimed -4 %"
_COMMITS: dict[str, tuple[Draw, float]] = {
    CULPRIT: (single(-0.04), -0.04),
    SMALLER: (single(-0.025), -0.025),
    NONE: (nothing, -0.04),
}


@dataclass(frozen=True, kw_only=True)
class Family:
    """A world in which a culprit is sought, a smaller one, and one that is not there."""

    name: str
    world: Callable[..., World]
    policy: Callable[..., SearchPolicy] = field(default=partial(told, build=0.002))
    commits: dict[str, tuple[Draw, float]] = field(default_factory=lambda: _COMMITS)
    wrong: float = WRONG
    searched: tuple[str, ...] = (CULPRIT, NONE)

    def rows(self) -> tuple[Row, ...]:
        """One for each that is searched."""
        return tuple(
            Row(
                name=f"{self.name}: {what}",
                world=self.world(n=256, commits=self.commits[what][0]),
                policy=self.policy(self.commits[what][1]),
                wrong=self.wrong,
                named=None if self.commits[what][0] is nothing else NAMED,
                many=True,
            )
            for what in self.searched
        )


_world = partial(World, sigma_build=0.002)
_ALL = (CULPRIT, SMALLER, NONE)
FAMILIES = (
    Family(name="noise as told", world=_world, wrong=WRONG_AS_TOLD, searched=_ALL),
    *(
        Family(
            name=f"{100 * share:g} % of the images slow by 4 %",
            world=partial(_world, tail=Tail(share=share, far=0.04)),
            searched=_ALL,
        )
        for share in (0.03, 0.1)
    ),
    Family(
        name="10 % of the images slow by 2.5 %",
        world=partial(_world, tail=Tail(share=0.1, far=0.025)),
        searched=(NONE,),
    ),
    Family(name="build noise .6 %, told .2 %", world=partial(World, sigma_build=0.006)),
    Family(
        name="build noise 1 %, told 0",
        world=partial(World, sigma_build=0.01),
        policy=partial(told, build=0.0),
    ),
    Family(
        name="all boots ±3 % from one moment on", world=partial(_world, hours=(shift_once(0.03),))
    ),
    Family(name="hours slow by 2 to 6 %", world=partial(_world, hours=(bad_hours(0.02, 0.06),))),
    Family(name="random walk, .4 % an hour", world=partial(_world, hours=(random_walk(0.004),))),
    Family(name="daily cycle of ±1 %", world=partial(_world, hours=(daily_cycle(0.01),))),
    Family(
        name="15 to 35 % of the boots slower by 1 to 2 %",
        world=partial(_world, boots=(slower_mode((0.15, 0.35), (0.01, 0.02)),)),
    ),
    Family(
        name="4 % of the runs lose 3 to 30 %",
        world=partial(_world, boots=(lost_runs(0.04, 0.03, 0.3),)),
    ),
)
MIXED = Row(
    name="-2.5 %, lost runs + daily cycle + far images + 12 % untestable",
    world=_world(
        n=256,
        commits=scattered_untestable(-0.025, 0.12),
        tail=Tail(share=0.02, far=0.03, both_ways=True),
        hours=(daily_cycle(0.004),),
        boots=(lost_runs(0.02, 0.05, 0.4),),
    ),
    policy=told(-0.025, build=0.002),
    named=NAMED,
)
TWO_SPEEDS = tuple(
    Row(
        name=f"{100 * share:g} % of the images slow by {100 * far:g} %: {what}",
        world=_world(n=256, commits=commits, tail=Tail(share=share, far=far)),
        policy=told(claimed, build=0.002),
        named=named,
        many=True,
    )
    for share, far, what, commits, claimed, named in (
        (0.5, 0.03, "nothing there, claimed -3 %", nothing, -0.03, None),
        (0.5, 0.06, "nothing there, claimed -6 %", nothing, -0.06, None),
        (0.3, 0.04, "nothing there, none claimed", nothing, None, None),
        (0.5, 0.03, "-6 %", single(-0.06), -0.06, NAMED),
    )
)
RACES = tuple(
    Row(
        name=f"a commit slows a third of the boots by 12 %: {what}",
        world=_world(n=256, commits=single(-0.12), race=1 / 3),
        policy=told(-0.04, build=0.002),
        named=NAMED,
        alarm=alarm,
    )
    for what, alarm in (("after an alarm", True), ("nothing was booted", False))
)
TRUST_ROWS = (*(row for family in FAMILIES for row in family.rows()), *TWO_SPEEDS, *RACES, MIXED)
