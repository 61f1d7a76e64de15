"""The rows on the cost of a search whose noise is as stated."""

from dataclasses import replace
from typing import Any

from benchmarks.worlds.lab import World
from benchmarks.worlds.ranges import (
    iflib,
    informed,
    several,
    single,
    untestable_one_by_one,
    untestable_stretch,
)
from benchmarks.worlds.row import NAMED, WRONG_AS_TOLD, Row, told


def _clean(n: int, d: float, boots: float, *, run: float = 0.005, least: float = 0.02) -> Row:
    effect = -run * d
    return Row(
        name=f"n {n}, d {d:g}, noise {100 * run:g} %, min-effect {100 * least:g} %",
        world=World(n=n, commits=single(effect), sigma_run=run),
        policy=told(effect, run, least=least),
        boots=boots,
        wrong=WRONG_AS_TOLD,
        named=NAMED,
    )


def _informed(name: str, shares: tuple[float, float, float], *, use: bool, **wanted: Any) -> Row:
    row = Row(
        name=f"n 1600, d 10, {name}",
        world=World(n=1600, commits=informed(-0.05, shares, told=use)),
        policy=told(-0.05),
        wrong=WRONG_AS_TOLD,
        named=NAMED,
    )
    return replace(row, **wanted)


COST_ROWS = (
    _clean(1600, 10, 18),
    _clean(256, 5, 17.5),
    _clean(256, 3, 24, least=0.01),
    _clean(256, 5, 20, run=0.01, least=0.015),
    _clean(256, 3, 25, run=0.01, least=0.015),
    _clean(256, 2, 42, run=0.01, least=0.015),
    _informed("prior informed and right", (0.8, 0.18, 0.02), use=True, boots=15.0),
    _informed("prior flat, culprit in neither class", (0.0, 0.0, 1.0), use=False),
    _informed(
        "prior informed and wrong",
        (0.0, 0.0, 1.0),
        use=True,
        versus="n 1600, d 10, prior flat, culprit in neither class",
        more=1.5,
    ),
    Row(
        name="IFLIB, four steps",
        world=World(n=1600, commits=iflib, sigma_run=0.0045),
        policy=told(run=0.0045),
        boots=56,
        named=NAMED,
        proved=NAMED,
    ),
    Row(
        name="slope of 20 x -.3 %",
        world=World(n=256, commits=several(20, -0.003), sigma_run=0.003),
        policy=told(-0.058, 0.003),
        boots=80,
        sloped=NAMED,
    ),
    Row(
        name="slope of 2 x -1.2 %",
        world=World(n=256, commits=several(2, -0.012), sigma_run=0.003),
        policy=told(-0.024, 0.003),
        boots=80,
        sloped=NAMED,
    ),
    *(
        Row(
            name=f"-4 %, 30 % untestable, culprit {'inside' if inside else 'beside'}",
            world=World(n=256, commits=untestable_stretch(-0.04, 0.3, inside=inside)),
            policy=told(-0.04),
            named=NAMED,
            failed=12,
        )
        for inside in (True, False)
    ),
    Row(
        name="-5 %, 60 % of 5,000 untestable, one by one",
        world=World(n=5000, commits=untestable_one_by_one(-0.05, 0.6)),
        policy=told(-0.05),
        named=NAMED,
        failed=30,
    ),
)
