"""Rows for development: worlds with other numbers than the judged rows, for tuning."""

from functools import partial

from benchmarks.worlds.disturbances import bad_hours, random_walk, shift_once, slower_mode
from benchmarks.worlds.lab import Tail, World
from benchmarks.worlds.ranges import (
    nothing,
    several,
    single,
    untestable_one_by_one,
    untestable_stretch,
)
from benchmarks.worlds.row import Row, told
from benchmarks.worlds.trust_rows import CULPRIT, NONE, SMALLER, Family

_COMMITS = {
    CULPRIT: (single(-0.035), -0.035),
    SMALLER: (single(-0.022), -0.022),
    NONE: (nothing, -0.03),
}
_ALL = (CULPRIT, SMALLER, NONE)
_world = partial(World, sigma_run=0.006, sigma_build=0.0025)
_policy = partial(told, run=0.006, build=0.0025)
_family = partial(Family, commits=_COMMITS, policy=_policy)
FAMILIES = (
    _family(name="dev noise as told", world=_world, searched=_ALL),
    _family(
        name="dev 5 % of the images slow by 3 %",
        world=partial(_world, tail=Tail(share=0.05, far=0.03)),
        searched=_ALL,
    ),
    _family(
        name="dev 6 % of the images off by 2.5 %",
        world=partial(_world, tail=Tail(share=0.06, far=0.025, both_ways=True)),
        searched=_ALL,
    ),
    _family(
        name="dev 12 % of the images slow by 5 %",
        world=partial(_world, tail=Tail(share=0.12, far=0.05)),
    ),
    _family(
        name="dev build noise .5 %, told half of it",
        world=partial(World, sigma_run=0.006, sigma_build=0.005),
    ),
    _family(
        name="dev build noise .7 %, told 0",
        world=partial(World, sigma_run=0.006, sigma_build=0.007),
        policy=partial(told, run=0.006, build=0.0),
    ),
    _family(
        name="dev all boots ±2 % from one moment on",
        world=partial(_world, hours=(shift_once(0.02, within_h=5),)),
    ),
    _family(
        name="dev hours slow by 1.5 to 4 %",
        world=partial(_world, hours=(bad_hours(0.015, 0.04, every_h=5),)),
    ),
    _family(
        name="dev random walk, .3 % an hour", world=partial(_world, hours=(random_walk(0.003),))
    ),
    _family(
        name="dev 10 to 20 % of the boots slower by 1.5 to 2.5 %",
        world=partial(_world, boots=(slower_mode((0.1, 0.2), (0.015, 0.025)),)),
    ),
)
ALONE = (
    *(
        Row(
            name=f"dev n {n}, d {d:g}",
            world=World(n=n, commits=single(-0.006 * d), sigma_run=0.006),
            policy=told(-0.006 * d, 0.006, least=least),
        )
        for n, d, least in ((1200, 9, 0.02), (300, 4.5, 0.01), (300, 2.5, 0.01))
    ),
    *(
        Row(
            name=f"dev slope of {count} x {100 * effect:g} %",
            world=World(n=300, commits=several(count, effect), sigma_run=0.004),
            policy=told(count * effect, 0.004),
        )
        for count, effect in ((12, -0.004), (3, -0.011))
    ),
    *(
        Row(
            name=f"dev 25 % untestable, culprit {'inside' if inside else 'beside'}",
            world=World(
                n=300, commits=untestable_stretch(-0.05, 0.25, inside=inside), sigma_run=0.006
            ),
            policy=told(-0.05, 0.006),
        )
        for inside in (True, False)
    ),
    Row(
        name="dev 50 % of 3,000 untestable, one by one",
        world=World(n=3000, commits=untestable_one_by_one(-0.05, 0.5), sigma_run=0.006),
        policy=told(-0.05, 0.006),
    ),
)
TWO_SPEEDS = tuple(
    Row(
        name=f"dev {100 * share:g} % of the images slow by {100 * far:g} %: {what}",
        world=_world(n=300, commits=commits, tail=Tail(share=share, far=far)),
        policy=_policy(claimed),
    )
    for share, far, what, commits, claimed in (
        (0.4, 0.035, "nothing there, claimed -3.5 %", nothing, -0.035),
        (0.6, 0.05, "nothing there, none claimed", nothing, None),
        (0.4, 0.035, "-7 %", single(-0.07), -0.07),
    )
)
RACES = tuple(
    Row(
        name=f"dev a commit slows {100 * share:g} % of the boots by {100 * far:g} %",
        world=_world(n=300, commits=single(-far), race=share, tail=tail),
        policy=_policy(-far * share),
        alarm=True,
    )
    for share, far, tail in (
        (0.25, 0.12, None),
        (0.5, 0.06, None),
        (0.4, 0.2, Tail(share=0.05, far=0.03, both_ways=True)),
    )
)
DEV_ROWS = (*ALONE, *TWO_SPEEDS, *RACES, *(row for family in FAMILIES for row in family.rows()))
