"""What the gates before a lane know, read from the tables; which commit they let through."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.gate import Gate, Ruling, figures_of, first_let_through, rulings
from buildbot_bench.plugin.broker.ask import OPEN_PROBES
from buildbot_bench.plugin.db.rows import AskedRow, CommitRow
from buildbot_bench.plugin.db.states import ProbeState
from buildbot_bench.plugin.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Lane, held_testbeds

_SETTLED = frozenset({ProbeState.DONE, ProbeState.LOST})


async def newest_let_through(
    farm: Farm, branch: str, lane: Lane, waiting: Sequence[CommitRow]
) -> CommitRow | None:
    """The first of some commits, newest first, that the gates of a lane do not hold back."""
    if not waiting or not lane.gates:
        return next(iter(waiting), None)
    measured, gates = await _before(farm, branch, lane, waiting[0].position)
    through = first_let_through((commit.position for commit in waiting), measured, gates)
    return next((commit for commit in waiting if commit.position == through), None)


async def said_of(
    farm: Farm, branch: str, lane: Lane, waiting: Sequence[CommitRow]
) -> list[tuple[CommitRow, dict[str, Ruling]]]:
    """What each gate of a lane, by its testbed, says of some commits, newest first."""
    if not waiting:
        return []
    measured, gates = await _before(farm, branch, lane, waiting[0].position)
    ruled = rulings((commit.position for commit in waiting), measured, gates)
    return [
        (commit, dict(zip(lane.gates, said, strict=True)))
        for commit, (_, said) in zip(waiting, ruled, strict=True)
    ]


async def _before(farm: Farm, branch: str, lane: Lane, newest: int) -> tuple[list[int], list[Gate]]:
    """What is known behind the gates of a lane and at each of them, up to a position."""
    first = max(0, newest - WINDOW_COMMITS)
    known = await _asked(farm, branch, lane.testbed, lane.workload, first)
    ill = await held_testbeds(farm)
    gates = [
        await _gate(farm, branch, testbed, lane.workload, first, ill=testbed in ill)
        for testbed in lane.gates
    ]
    measured = [one.position for one in known if one.state in OPEN_PROBES or _ended_well(one)]
    return measured, gates


async def _gate(
    farm: Farm, branch: str, testbed: str, workload: str, first: int, *, ill: bool
) -> Gate:
    asked = await _asked(farm, branch, testbed, workload, first)
    samples = await farm.store.samples(
        testbed=testbed,
        workload=workload,
        first_position=first,
        last_position=max((one.position for one in asked), default=0),
        branch=branch,
    )
    well = {one.position for one in asked if _ended_well(one)}
    return Gate(
        told={one.position for one in asked if one.state in _SETTLED},
        figures=figures_of(samples, well),
        least=farm.workflow.min_effect_on(testbed),
        ill=ill,
    )


async def _asked(
    farm: Farm, branch: str, testbed: str, workload: str, first: int
) -> Sequence[AskedRow]:
    """The newest request for each commit from a position on."""
    rows = await farm.store.asked_commits(branch, testbed, workload, first)
    return tuple({row.position: row for row in rows}.values())


def _ended_well(asked: AskedRow) -> bool:
    """With a value, or as a no-op change."""
    return asked.state == ProbeState.DONE and asked.failure_kind is None
