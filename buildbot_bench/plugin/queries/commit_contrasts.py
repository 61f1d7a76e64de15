"""One commit's samples on each series, beside its predecessor's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from buildbot_bench.core.branches import repository_of
from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.core.report import CommitContrast, against_predecessor, newest_measured
from buildbot_bench.core.revision import SHA_LENGTH, Revision
from buildbot_bench.core.sample import Sample
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.branches import branch_of_image
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series, removal_reason
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS
from buildbot_bench.plugin.queries.history import revision_json
from buildbot_bench.plugin.queries.items import item_on
from buildbot_bench.plugin.queries.judgements import mark_json, verdict_json
from buildbot_bench.plugin.queries.marked import marks_told

Json = dict[str, Any]

_SHA = re.compile(rf"[0-9a-f]{{{SHA_LENGTH}}}")


async def commit(farm: Farm, named: str) -> Json | None:
    """A commit that was built, and what it gave on each series; None when there is none.

    `named` as a person writes it; one that a rewritten branch dropped is known by its whole hash.
    """
    revision = await farm.git(_revision, farm, named)
    warnings = await farm.git(farm.history.oddities, named) if revision else ()
    repository, text = await farm.git(_place, farm, named)
    sha = revision.sha if revision else text
    image = (
        await farm.store.image_of(sha, 0, repository) if revision or _SHA.fullmatch(sha) else None
    )
    if image is None:
        return None
    shown = revision_json(revision) if revision else _of_image(image)
    branch = await branch_of_image(farm, image)
    verdicts = await farm.store.judgements_of_commit(sha, repository)
    measured = await farm.store.measured_by(sha, repository)
    return shown | {
        "warnings": list(warnings),
        "branch": branch,
        "image_state": str(image.state),
        "failure": image.reason or "",
        "series": [
            await _on_series(farm, image, branch, series, verdicts.get(series))
            for series in _in_order(farm, {*measured, *verdicts})
        ],
    }


async def contrast_of(
    farm: Farm, image: ImageRow, branch: str, testbed: str, workload: str
) -> CommitContrast | None:
    """The commit of an image against the nearest one before it that was measured likewise.

    None where there is no such, or the commit itself gave no value.
    """
    new = await _samples(farm, image.position, branch, testbed=testbed, workload=workload)
    last = newest_measured(new)
    if last is None:
        return None
    key = {"testbed": testbed, "workload": workload, "unit": last.metric.unit, "epoch": last.epoch}
    position = await farm.store.measured_before(
        **key, branch=branch, first=image.position - WINDOW_COMMITS, before=image.position
    )
    if position is None:
        return None
    old = await _samples(farm, position, branch, **key)
    confidence = farm.workflow.regression.confidence
    return await calculate(against_predecessor, old, new, confidence=confidence)


def contrast_json(found: CommitContrast | None) -> Json | None:
    """A contrast as the REST interface shows it."""
    if found is None:
        return None
    held = found.contrast
    return {
        "old": {
            "label": held.old.label,
            "values": list(held.old.values),
            "images": found.old_images,
        },
        "new": {
            "label": held.new.label,
            "values": list(held.new.values),
            "images": found.new_images,
        },
        "unit": found.metric.unit,
        "higher_is_better": found.metric.higher_is_better,
        "epoch": found.epoch,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "confidence": held.comparison.confidence if held.comparison else None,
        "p_value": held.comparison.p_value if held.comparison else None,
        "significant": bool(held.comparison and held.comparison.significant),
        "ministat": held.ministat,
        "notes": list(held.notes),
    }


async def _on_series(
    farm: Farm,
    image: ImageRow,
    branch: str,
    series: tuple[str, str],
    verdict: JudgementRow | None,
) -> Json:
    testbed, workload = series
    found = await contrast_of(farm, image, branch, testbed, workload)
    return {
        "testbed": testbed,
        "workload": workload,
        "branch": branch,
        "nouns": (await item_on(farm, testbed)).nouns,
        "gone": removal_reason(farm, testbed, workload, repository_of(branch)),
        "contrast": contrast_json(found),
        "marked": list(await marks_told(farm, testbed, workload, branch, image.position)),
        "verdict": None if verdict is None else await _verdict(farm, verdict),
    }


async def _verdict(farm: Farm, row: JudgementRow) -> Json:
    """A verdict with the last word on it, or else on the search that it led to."""
    marks = await farm.store.marks_of_judgement(row.id)
    if not marks and row.search_id is not None:
        marks = await farm.store.marks_of_search(row.search_id)
    return verdict_json(row) | {"mark": mark_json(marks[-1]) if marks else None}


async def _samples(farm: Farm, position: int, branch: str, **asked: str) -> Sequence[Sample]:
    return await farm.store.samples(
        first_position=position, last_position=position, history_of=branch, **asked
    )


def _in_order(farm: Farm, found: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of bench.yml in its order, then by name."""
    known = [(series.testbed, series.workload) for series in all_series(farm.workflow.bench_jobs)]
    return [one for one in known if one in found] + sorted(found.difference(known))


def _place(farm: Farm, named: str) -> tuple[str, str]:
    """The repository and the name in it; the first one, where there is none of that name."""
    try:
        return farm.history.place(named)
    except UsageError:
        return "", named


def _revision(farm: Farm, named: str) -> Revision | None:
    """The revision, unless there is none of that name, or the mirror cannot be read."""
    try:
        return farm.history.resolve(named)
    except BenchError:
        return None


def _of_image(image: ImageRow) -> Json:
    name = {"label": image.label, "sha": image.sha, "position": image.position}
    return name | {"subject": "", "author": ""}
