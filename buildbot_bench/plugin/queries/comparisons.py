"""How comparisons of variants stand, and their result directories; it changes nothing."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from twisted.internet.threads import deferToThread

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.legible import spelled_out
from buildbot_bench.core.sample import KNOWN_METRICS, PPS, Metric
from buildbot_bench.core.trial import (
    GRAPH,
    Boot,
    LaneValues,
    Part,
    TrialReport,
    TrialSide,
    compose_trial,
    image_names,
    markdown,
    parts,
    result_files,
    text,
)
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.plugin.db.finding_rows import TrialRow
from buildbot_bench.plugin.db.rows import IterationRow
from buildbot_bench.plugin.db.states import OPEN_PROBES, ImageState, TrialState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.captures import flame_graphs_of
from buildbot_bench.render.plots import Pair, medians

Lane = tuple[str, str]


def sides_done(
    trial: TrialRow, iterations: Sequence[IterationRow]
) -> dict[Lane, Counter[TrialSide]]:
    """How many boots of each side gave a value, in each lane."""
    done: dict[Lane, Counter[TrialSide]] = {}
    for row in iterations:
        if row.value is not None:
            done.setdefault((row.testbed, row.workload), Counter())[side_of(trial, row)] += 1
    return done


def side_of(trial: TrialRow, row: IterationRow) -> TrialSide:
    """Which variant an iteration of a trial measured; the two differ in image or in tunables."""
    is_base = (row.image_id, row.tunables) == (trial.base_image_id, trial.base_tunables)
    return TrialSide.BASE if is_base else TrialSide.NEW


Json = dict[str, Any]


class TrialViews:
    """Reads the tables for whoever looks."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def describe(self, trial_id: int) -> Json | None:
        """A trial as it stands, with its report when it has ended."""
        trial = await self._farm.store.trial(trial_id)
        if trial is None:
            return None
        summary = await self.summarise(trial)
        if not trial.ended:
            nothing = {"report": None, "text": None, "markdown": None}
            return summary | nothing | {"patches": await self._patches(trial)}
        report = await self.report(trial)
        return summary | {
            "report": to_json(report),
            "text": text(report),
            "markdown": markdown(report),
        }

    async def summarise(self, trial: TrialRow) -> Json:
        """The part of a trial's description that costs little."""
        measured = await self._farm.store.iterations_of_trial(trial.id)
        return {
            "trialid": trial.id,
            "state": str(trial.state),
            "base": trial.base_label,
            "new": trial.new_label,
            "lanes": [list(lane) for lane in trial.lanes],
            "iterations": trial.iterations,
            "boots_done": sum(row.value is not None for row in measured),
            "boots": 2 * trial.iterations * len(trial.lanes),
            "now": trial.detail or ("" if trial.ended else await self._activity(trial)),
            "created_at": trial.created_at,
            "ended_at": trial.ended_at,
            "requester": trial.requester,
        }

    async def report(self, trial: TrialRow) -> TrialReport:
        """What a trial came to so far."""
        rows = await self._farm.store.iterations_of_trial(trial.id)
        graphs = await flame_graphs_of(self._farm, trial)
        return compose_trial(
            [
                replace(_lane_values(trial, rows, *lane), flame_graphs=graphs.get(lane))
                for lane in ((testbed, workload) for testbed, workload in trial.lanes)
            ],
            trial_id=trial.id,
            base=trial.base_label,
            new=trial.new_label,
            iterations=trial.iterations,
            confidence=trial.confidence,
            min_effect=trial.min_effect,
            detail=trial.detail or "",
            farm=self._farm.workflow.name,
            url=f"{self._farm.master.config.buildbotURL}api/v2/bench/trials/{trial.id}",
        )

    async def _patches(self, trial: TrialRow) -> list[Json]:
        """What is to be approved, as text; empty when nothing is."""
        found: list[Json] = []
        if trial.state == TrialState.AWAITING:
            for digest in await self._held(trial):
                patch = await self._farm.store.patch(digest)
                if patch is not None:
                    shown = {"digest": digest, "text": spelled_out(patch.body)}
                    found.append({"origin": patch.origin, **shown})
        return found

    async def _held(self, trial: TrialRow) -> list[str]:
        """The digests of the patches in a trial's images, each once."""
        images = [
            await self._farm.store.image(number)
            for number in (trial.base_image_id, trial.new_image_id)
        ]
        held = [image.variant for image in images if image and image.state == ImageState.HELD]
        return list(dict.fromkeys(d for variant in held for d in parse_recipe(variant).patches))

    async def _activity(self, trial: TrialRow) -> str:
        """What is done for a trial at this moment, in a few words."""
        if trial.state == TrialState.AWAITING:
            return "its patches await approval"
        for number in (trial.base_image_id, trial.new_image_id):
            image = await self._farm.store.image(number)
            if image is not None and image.state in {ImageState.WANTED, ImageState.BUILDING}:
                return f"building {image.label}"
        for probe in await self._farm.store.probes_of_trial(trial.id):
            image = await self._farm.store.image(probe.image_id)
            if probe.state in OPEN_PROBES and image is not None:
                return f"measuring {image.label}: {probe.workload} on {probe.testbed}"
        return "planning"


def _lane_values(
    trial: TrialRow, rows: list[IterationRow], testbed: str, workload: str
) -> LaneValues:
    """The values of one lane, in the unit in which most of them are."""
    here = [row for row in rows if (row.testbed, row.workload) == (testbed, workload)]
    units = [row.unit for row in here if row.value is not None]
    unit = max(units, key=units.count, default=PPS.unit)
    values: dict[TrialSide, list[float]] = {side: [] for side in TrialSide}
    for row in here:
        if row.value is not None and row.unit == unit:
            values[side_of(trial, row)].append(row.value)
    return LaneValues(
        testbed=testbed,
        workload=workload,
        metric=KNOWN_METRICS.get(unit) or Metric(name=unit, unit=unit),
        base=tuple(values[TrialSide.BASE]),
        new=tuple(values[TrialSide.NEW]),
        facts=dict(here[0].facts) if here else {},
    )


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
