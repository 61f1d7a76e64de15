"""Writes a report as JSON types for programs; it tells them nothing that a mail would not.

report.schema.json, which `render.report_schema` prints, describes each key. A figure that is
infinite or undefined is null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from buildbot_bench.core.ministat import Comparison, Summary
from buildbot_bench.core.report.meeting import Place
from buildbot_bench.core.report.model import Contrast, ProbeRecord, Report, Side, StepReport
from buildbot_bench.core.report.per_packet import PerPacket
from buildbot_bench.core.report.why import Why
from buildbot_bench.core.revision import Revision

VERSION = 1

Json = dict[str, Any]


def to_json(report: Report) -> Json:
    """The whole report as plain JSON types, as report.schema.json describes them."""
    setting = report.setting
    metric = setting.metric
    return {
        "version": VERSION,
        "kind": report.kind.value,
        "subject": report.subject,
        "summary": list(report.summary),
        "search": setting.search_id,
        "farm": setting.farm,
        "url": setting.url,
        "operator": setting.operator,
        "testbed": setting.testbed,
        "workload": setting.workload,
        "metric": _fields(metric, "name unit higher_is_better"),
        "confidence": setting.confidence,
        "min_effect": setting.min_effect,
        "error": setting.error,
        "old": _revision(report.old),
        "new": _revision(report.new),
        "commits": report.commits,
        "headline": None if report.headline is None else _step(report.headline),
        "steps": [_step(step) for step in report.steps],
        "ends": None if report.ends is None else _contrast(report.ends),
        "unresolved": [
            {"old": _revision(part.old), "new": _revision(part.new), "commits": part.commits}
            for part in report.unresolved
        ],
        "skipped": [
            {"first": _revision(part.first), "last": _revision(part.last)}
            | _fields(part, "commits reason")
            for part in report.skipped
        ],
        "reproduce": list(report.reproduce),
        **_support(report),
        "probes": [_probe(probe) for probe in report.probes],
        "reason": report.reason,
        **_standing(report),
    }


def _support(report: Report) -> Json:
    return {
        "candidates": [
            {"first": _revision(place.first), "last": _revision(place.last)}
            | _fields(place, "commits probability")
            for place in report.candidates
        ],
        "disclaimer": report.disclaimer,
        "checks": [
            _fields(check, "name detail") | {"outcome": check.outcome.value}
            for check in report.checks
        ],
        "scope": [
            _fields(row, "testbed workload effect error old new commits reported")
            | {"reach": row.reach.value}
            for row in report.scope
        ],
        "why": None if report.why is None else _why(report.why),
        "setup": [_fields(fact, "name old new") for fact in report.setup],
        "artefacts": [_fields(one, "label image digest iterations") for one in report.artefacts],
        "measured": [
            _fields(one, "label position image")
            | {"level": one.level.value, "values": [_finite(value) for value in one.values]}
            for one in report.measured
        ],
        "cost": report.cost and _fields(report.cost, "boots failed lab_s images build_s"),
    }


def _standing(report: Report) -> Json:
    opinion, (low, high) = report.opinion, report.record.interval
    return {
        "opinion": opinion and _fields(opinion, "kind author fixed_by") | {"at": opinion.at_s},
        "record": _fields(report.record, "right wrong") | {"low": low, "high": high},
    }


def _why(why: Why) -> Json:
    return {
        "counter": why.counter,
        "old": why.old and _fields(why.old, "label samples idle link"),
        "new": why.new and _fields(why.new, "label samples idle link"),
        "symbols": [_fields(one, "name old new error sure") for one in why.symbols],
        "per_packet": None if why.per_packet is None else _per_packet(why.per_packet),
        "places": None if why.places is None else [_place(place) for place in why.places],
        "difference": why.difference,
        "missing": why.missing,
    }


def _per_packet(table: PerPacket) -> Json:
    return {
        "functions": [_fields(one, "name place old new") for one in table.functions],
        "others": _fields(table.others, "functions old new"),
        "total": _fields(table.total, "functions old new"),
        "note": table.note,
    }


def _place(place: Place) -> Json:
    return {
        "path": place.path,
        "changed": list(place.changed),
        "named": list(place.named),
        "lines": [_fields(line, "function old new text") for line in place.lines],
        "unshown": place.unshown,
    }


def _revision(revision: Revision) -> Json:
    named = _fields(revision, "label sha position subject author")
    return named | {"committed_at": revision.committed_at_s}


def _step(step: StepReport) -> Json:
    return {
        "old": _revision(step.old),
        "new": _revision(step.new),
        "suspects": [_revision(suspect) for suspect in step.suspects],
        **_fields(step, "effect low high probability sure regression"),
        "contrast": _contrast(step.contrast),
    }


def _contrast(contrast: Contrast) -> Json:
    return {
        "old": _side(contrast.old),
        "new": _side(contrast.new),
        "ministat": contrast.ministat,
        "notes": list(contrast.notes),
        "comparison": None if contrast.comparison is None else _comparison(contrast.comparison),
    }


def _side(side: Side) -> Json:
    return {"label": side.label, "values": list(side.values)}


def _comparison(comparison: Comparison) -> Json:
    figures = "difference error difference_percent error_percent pooled_stddev p_value significant"
    return {
        "old": _summary(comparison.reference),
        "new": _summary(comparison.other),
        **_fields(comparison, figures),
    }


def _summary(summary: Summary) -> Json:
    return _fields(summary, "n minimum maximum median mean stddev")


def _probe(probe: ProbeRecord) -> Json:
    return {
        "revision": probe.label,
        "at": probe.at_s,
        **_fields(probe, "serial image value unit failure duration_s note left"),
    }


def _fields(record: object, names: str) -> Json:
    """The named fields of a record; JSON has no infinity and no NaN, so they become null."""
    fields: Mapping[str, Any] = {name: getattr(record, name) for name in names.split()}
    return {name: _finite(value) for name, value in fields.items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
