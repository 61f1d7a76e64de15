"""The result directory of a trial as its tables and logs give it; it computes no comparison."""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any

from twisted.internet.threads import deferToThread

from buildbot_bench.core.trial import (
    GRAPH,
    Boot,
    Part,
    TrialReport,
    TrialSide,
    image_names,
    parts,
    result_files,
)
from buildbot_bench.plugin.broker.trials import side_of
from buildbot_bench.plugin.db.finding_rows import TrialRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.trial_views import TrialViews
from buildbot_bench.render.plots import Pair, medians

Json = dict[str, Any]


async def directory_of(farm: Farm, trial: TrialRow) -> list[Json]:
    """The files, as far as the trial was measured, by their paths: texts, and graphs in base64."""
    report = await TrialViews(farm).report(trial)
    texts = result_files(report, await _boots(farm, trial))
    rows: list[Json] = [{"path": path, "text": text} for path, text in texts.items()]
    for part in parts(report):
        if part.measured:
            png = await deferToThread(_graph, report, part)
            packed = base64.b64encode(png).decode("ascii")
            rows.append({"path": f"{part.place}{GRAPH}", "base64": packed})
    return sorted(rows, key=lambda row: str(row["path"]))


async def _boots(farm: Farm, trial: TrialRow) -> list[Boot]:
    """The boots that gave a value; those of a side and lane are counted in the order measured."""
    counts: Counter[tuple[str, str, TrialSide]] = Counter()
    boots: list[Boot] = []
    for row in await farm.store.iterations_of_trial(trial.id):
        if row.value is None:
            continue
        side = side_of(trial, row)
        key = (row.testbed, row.workload, side)
        counts[key] += 1
        boots.append(
            Boot(
                testbed=row.testbed,
                workload=row.workload,
                side=side,
                ordinal=counts[key],
                log=row.log,
            )
        )
    return boots


def _graph(report: TrialReport, part: Part) -> bytes:
    """One axis has one unit: lanes that are measured in another than the first have none."""
    metric = part.measured[0].metric
    names = image_names(report.base, report.new)
    return medians(
        [
            Pair(
                workload=lane.workload,
                values=(tuple(lane.contrast.old.values), tuple(lane.contrast.new.values)),
            )
            for lane in part.measured
            if lane.metric == metric
        ],
        (names[TrialSide.BASE], names[TrialSide.NEW]),
        metric,
        title=f"{report.new} against {report.base} on {part.lanes[0].testbed}",
    )
