"""Evidence of breakages and of broken workloads, from builds and boots that fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from buildbot_bench.api.answers import AbTestState, ProbeState, SearchState
from buildbot_bench.core.build_log import fails_each_time
from buildbot_bench.core.incident.breakage import bracket, broken_tip
from buildbot_bench.core.incident.model import BreakageEvidence, BrokenTip, Trial, TrialOutcome
from buildbot_bench.core.incident.workload import (
    Attempt,
    BrokenWorkload,
    broken_workload_text,
    judge_workload,
)
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import long_line
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.db.columns import ImageState, ProbeReason, SearchKind
from buildbot_bench.plugin.db.finding_rows import QuarantineRow, SearchRow
from buildbot_bench.plugin.db.read_files import AttemptRow, BootRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import all_series, removal_reason, repository_removal_reason
from buildbot_bench.plugin.queries.evidence import patched, span_of

_MOST = 200  # jobs of a series that are looked back upon
_LINES, _LINE_COLUMNS = 3, 80  # of a failure's output


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """A series whose workload is broken, or in doubt; `text` says it, in one line.

    `known` are the jobs by which that was judged, `output` the last lines of a broken one's boot.
    """

    testbed: str
    workload: str
    verdict: BrokenWorkload | Attempt
    text: str
    known: frozenset[int]
    output: str = ""


async def troubles_of_workloads(farm: Farm) -> Mapping[SeriesName, Trouble]:
    """Every series that is not to be believed now, in the order of their names."""
    found: dict[SeriesName, Trouble] = {}
    for testbed, workload in sorted(await farm.store.series_that_fail()):
        if removal_reason(farm, testbed, workload):
            continue
        trouble = await _trouble(farm, (testbed, workload))
        if trouble is not None:
            found[testbed, workload] = trouble
    return found


async def _trouble(farm: Farm, series: SeriesName) -> Trouble | None:
    testbed, workload = series
    found = await farm.store.newest_attempts(series, _MOST)
    # Kernels of a repository that went cannot be booted again to see.
    rows = [row for row in found if not repository_removal_reason(farm, row.repository)]
    ends, compared = await _held_against_each_other(farm, series)
    output = ""
    verdict = judge_workload(map(_attempt, rows), ends=ends, compared=compared)
    match verdict:
        case BrokenWorkload():
            output = await _last_lines(farm, verdict.second.number)
            text = broken_workload_text(verdict, workload=workload, testbed=testbed, output=output)
        case Attempt() as boot:
            text = f"boots {boot.label} again, to see whether workload {workload} works"
        case _:
            return None
    known = frozenset(row.id for row in rows)
    return Trouble(
        testbed=testbed,
        workload=workload,
        verdict=verdict,
        text=long_line(text),
        known=known,
        output=output,
    )


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
    farm: Farm, series: SeriesName
) -> tuple[list[tuple[str, str]], set[str]]:
    """The ends of the searches that run on a series, and the variants that are compared there."""
    ends = [
        (_variant(search, search.old_sha), _variant(search, search.new_sha))
        for search in await farm.store.searches(
            states=(SearchState.RUNNING,), kinds=(SearchKind.EFFECT,)
        )
        if search.series == series
    ]
    compared: set[str] = set()
    for ab_test in await farm.store.ab_tests(states=(AbTestState.RUNNING,)):
        if series not in ab_test.series_names:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """The trials of a stretch of a branch by position, and the images of it."""

    trials: tuple[Trial, ...]
    images: tuple[ImageRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakageInputs:
    """All that the core needs; positions of `evidence` are indices into `range`."""

    range: RevisionRange
    evidence: BreakageEvidence
    images: tuple[ImageRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """What may break: the building of a branch, or its booting where a workload is measured."""

    kind: SearchKind
    branch: str
    testbed: str = ""
    workload: str = ""

    @classmethod
    def of(cls, search: SearchRow) -> Watched:
        """What a search for a breakage is about."""
        return cls(**shared(cls, search))


async def tried(farm: Farm, watched: Watched, first: int, last: int) -> Tried:
    """What is known of the plain revisions that a branch has from one position to another."""
    images = await farm.store.images_between(first, last, watched.branch)
    if watched.kind is SearchKind.BUILD:
        trials = [trial for image in images if (trial := _built(image))]
    else:
        trials = [trial for image in images if (trial := _hidden(image))]
        trials += await _boots(farm, watched, images)
    return Tried(trials=tuple(trials), images=tuple(images))


async def gather_breakage(farm: Farm, search: SearchRow) -> BreakageInputs:
    """Read everything that is known of the range of a search for a breakage."""
    span = await farm.git(span_of, farm, search)
    first = span.old.position
    known = await tried(farm, Watched.of(search), first, span.new.position)
    shas = {revision.position: revision.sha for revision in span.revisions}
    images = tuple(image for image in known.images if shas.get(image.position) == image.sha)
    firsts = [image for image in images if image.ordinal == 0]
    kernels = {i.position - first: i.kernel for i in firsts if i.kernel}
    evidence = BreakageEvidence(
        trials=tuple(replace(one, position=one.position - first) for one in known.trials),
        built=frozenset(i.position - first for i in firsts if i.state is ImageState.BUILT),
        same_as_previous=frozenset(p for p, k in kernels.items() if kernels.get(p - 1) == k),
    )
    return BreakageInputs(range=span, evidence=evidence, images=images)


async def is_about(farm: Farm, search: SearchRow, tip: BrokenTip) -> bool:
    """Whether a search of another series found, or may yet find, what broke this one.

    One that runs may while what it knows of the breakage's place and the tip share a commit. One
    that ended without an answer would not have another where it began from the same commit.
    """
    if search.ended_at is None:
        known = await gather_breakage(farm, search)
        old, new = bracket(known.range.n, known.evidence)
        first = search.old_position
        return first + old < tip.broken and tip.works < first + new
    if search.state is SearchState.FOUND and search.breakage is not None:
        return tip.works < search.old_position + search.breakage.new <= tip.broken
    return search.old_position <= tip.works < search.new_position


async def series_that_broke(farm: Farm, search: SearchRow) -> list[Watched]:
    """The other series whose boots the culprit of a search broke, too; none of a build."""
    if search.kind is not SearchKind.BOOT or search.breakage is None:
        return []
    newest = await farm.store.newest_commit(search.branch)
    last = max(search.new_position, newest.position if newest else 0)
    searched, broken = Watched.of(search), []
    for series in all_series(farm.workflow.bench_jobs):
        other = replace(searched, testbed=series.testbed, workload=series.workload)
        if other == searched or not series.measures(search.branch):
            continue
        known = await tried(farm, other, search.old_position, last)
        tip = broken_tip(known.trials)
        if tip is not None and await is_about(farm, search, tip):
            broken.append(other)
    return broken


def _built(image: ImageRow) -> Trial | None:
    """What an image says of whether its revision builds; None while nobody knows."""
    if image.digest is not None:
        return _trial(image, TrialOutcome.WORKS)
    match image.state:
        case ImageState.UNTESTABLE:
            return _trial(image, TrialOutcome.BROKEN)
        case ImageState.FAILED:
            return _trial(image, TrialOutcome.LOST)
    return None


def _hidden(image: ImageRow) -> Trial | None:
    """Whether an image that was never built keeps its revision from being booted."""
    if image.ordinal == 0 and image.digest is None and image.state is ImageState.UNTESTABLE:
        return _trial(image, TrialOutcome.HIDDEN)
    return None


def _trial(image: ImageRow, outcome: TrialOutcome) -> Trial:
    reason = image.reason or ""
    return Trial(
        position=image.position,
        outcome=outcome,
        reason=reason,
        certain=fails_each_time(reason),
        asked_at_s=image.created_at,
    )


async def _boots(farm: Farm, watched: Watched, images: Sequence[ImageRow]) -> list[Trial]:
    at = {image.id: image.position for image in images}
    if not at:
        return []
    store, testbed = farm.store, watched.testbed
    probes = await store.probes_of(list(at), (testbed, watched.workload))
    others = {ProbeReason.CONTROL, ProbeReason.WORKLOAD}
    asked = [p for p in probes if p.reason not in others and not p.tunables]
    held = await store.quarantines(testbed)
    rows: dict[int, list[BootRow]] = {}
    for row in await store.boots_of((testbed, watched.workload), list(at)):
        rows.setdefault(row.probe_id, []).append(row)
    return list(_boot_trials(asked, rows, held, at))


def _boot_trials(
    probes: Iterable[ProbeRow],
    rows: dict[int, list[BootRow]],
    held: Sequence[QuarantineRow],
    at: dict[int, int],
) -> Iterator[Trial]:
    for probe in probes:
        believed = [row for row in rows.get(probe.id, ()) if not _is_in_doubt(row.at_s, held)]
        if (outcome := _outcome(probe, believed, held)) is None:
            continue
        failures = takewhile(lambda row: not row.counted, reversed(believed))
        yield Trial(
            position=at[probe.image_id],
            outcome=outcome,
            reason=probe.failure or "",
            tries=max(sum(1 for _ in failures), 1) if outcome is TrialOutcome.BROKEN else 1,
            asked_at_s=probe.issued_at or probe.created_at,
        )


def _outcome(
    probe: ProbeRow, believed: Sequence[BootRow], held: Sequence[QuarantineRow]
) -> TrialOutcome | None:
    """What a request's boots said; None while they say nothing yet, or are in doubt.

    A request that was closed because another one had found its image untestable booted nothing.
    """
    if any(row.counted for row in believed):
        return TrialOutcome.WORKS
    if probe.ended_at is None or _is_in_doubt(probe.ended_at, held):
        return None
    if probe.state is ProbeState.LOST:
        return TrialOutcome.LOST
    fails = probe.state is ProbeState.DONE and probe.failure_kind == FailureKind.UNTESTABLE
    return TrialOutcome.BROKEN if fails and probe.brid is not None else None


def _is_in_doubt(at_s: float, held: Sequence[QuarantineRow]) -> bool:
    return any(not row.trusted and row.since_s < at_s <= (row.ended_at or at_s) for row in held)
