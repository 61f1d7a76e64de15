"""Broken and doubted workloads, judged from the newest jobs of each series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.api.states import AbTestState, SearchState
from buildbot_bench.core.health import (
    Attempt,
    BrokenWorkload,
    Doubted,
    broken_workload_text,
    judge_workload,
)
from buildbot_bench.core.legible import long_line
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import ProbeReason, SearchKind
from buildbot_bench.plugin.db.trials import AttemptRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import removal_reason, repository_removal_reason
from buildbot_bench.plugin.queries.evidence import patched

_MOST = 200  # jobs of a series that are looked back upon
_LINES, _LINE_COLUMNS = 3, 80  # of a failure's output

SeriesName = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """A series whose workload is broken, or in doubt; `text` says it, in one line.

    `known` are the jobs by which that was judged, `output` the last lines of a broken one's boot.
    """

    testbed: str
    workload: str
    verdict: BrokenWorkload | Doubted
    text: str
    known: frozenset[int]
    output: str = ""


async def troubles_of_workloads(farm: Farm) -> Mapping[SeriesName, Trouble]:
    """Every series that is not to be believed now, in the order of their names."""
    found: dict[SeriesName, Trouble] = {}
    for testbed, workload in sorted(await farm.store.series_that_fail()):
        if removal_reason(farm, testbed, workload):
            continue
        trouble = await _trouble(farm, testbed, workload)
        if trouble is not None:
            found[testbed, workload] = trouble
    return found


async def _trouble(farm: Farm, testbed: str, workload: str) -> Trouble | None:
    series = {"testbed": testbed, "workload": workload}
    found = await farm.store.newest_attempts(**series, limit=_MOST)
    # Kernels of a repository that went cannot be booted again to see.
    rows = [row for row in found if not repository_removal_reason(farm, row.repository)]
    ends, compared = await _held_against_each_other(farm, testbed, workload)
    output = ""
    verdict = judge_workload(map(_attempt, rows), ends=ends, compared=compared)
    match verdict:
        case BrokenWorkload():
            output = await _last_lines(farm, verdict.second.number)
            text = broken_workload_text(verdict, workload=workload, testbed=testbed, output=output)
        case Doubted(boot=boot):
            text = f"boots {boot.label} again, to see whether workload {workload} works"
        case _:
            return None
    known = frozenset(row.id for row in rows)
    return Trouble(**series, verdict=verdict, text=long_line(text), known=known, output=output)


def _attempt(row: AttemptRow) -> Attempt:
    return Attempt(
        number=row.id,
        kernel=row.variant,
        label=row.label,
        at_s=row.ended_at,
        worked=row.worked,
        reason=row.failure or "",
        retry=row.reason is ProbeReason.WORKLOAD,
    )


async def _held_against_each_other(
    farm: Farm, testbed: str, workload: str
) -> tuple[list[tuple[str, str]], set[str]]:
    """The ends of the searches that run on a series, and the variants that are compared there."""
    ends = [
        (_variant(search, search.old_sha), _variant(search, search.new_sha))
        for search in await farm.store.searches(
            states=(SearchState.RUNNING,), kinds=(SearchKind.EFFECT,)
        )
        if (search.testbed, search.workload) == (testbed, workload)
    ]
    compared: set[str] = set()
    for ab_test in await farm.store.ab_tests(states=(AbTestState.RUNNING,)):
        if (testbed, workload) not in ab_test.series_names:
            continue
        images = await farm.store.images_of_ab_test(ab_test.id)
        compared |= {image.variant for image in images}
    return ends, compared


def _variant(search: SearchRow, sha: str) -> str:
    return sha if search.fix_sha is None else patched(search, sha)


async def _last_lines(farm: Farm, probe_id: int) -> str:
    """The end of what the last boot of a job wrote, in one line."""
    rows = await farm.store.iterations_of_probe(probe_id)
    log = next((row.log for row in reversed(rows) if row.log), "")
    lines = [line.strip()[:_LINE_COLUMNS] for line in log.splitlines() if line.strip()]
    return " / ".join(lines[-_LINES:])
