"""Describes the JSON of a report: `python -m buildbot_bench.render.report_schema` prints it.

It writes no report: `core.report.to_json` does, and the tests hold the two against each other.
All text in it has gone through `core.report.plain`.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

from pydantic import Field

from buildbot_bench.render import report_parts as parts


class Report(parts.Json):
    """What a search came to, in the reader's order."""

    version: Literal[1]
    """Raised when a key changes its meaning."""
    kind: Literal["culprit", "not-reproduced", "inconclusive"]
    subject: str
    summary: Annotated[list[str], Field(min_length=2, max_length=2)]
    """Two sentences."""
    search: int
    farm: str
    url: str | None
    """The search's page."""
    operator: str
    """Whom to ask; may be empty."""
    testbed: str
    workload: str
    metric: parts.Metric
    confidence: float
    """Of Student's t, in percent."""
    min_effect: parts.Share
    """The smallest relevant change."""
    error: parts.Share
    """The accepted probability of a wrong answer."""
    old: parts.Revision
    new: parts.Revision
    commits: parts.Count
    """How many lie in (old, new]."""
    headline: parts.Step | None
    """The step that the report is about."""
    steps: list[parts.Step]
    """All of them, oldest first."""
    ends: parts.Contrast | None
    """The two ends of the range, when there is no headline."""
    unresolved: list[parts.Unresolved]
    skipped: list[parts.Skipped]
    reproduce: list[str]
    """Commands."""
    candidates: list[parts.Candidate]
    disclaimer: str
    """What is not proven, in a sentence; may be empty."""
    checks: list[parts.Check]
    scope: list[parts.Scope]
    """The change on every workload and testbed, with what did not change."""
    why: parts.Why | None
    setup: list[parts.Fact]
    artefacts: list[parts.Artefact]
    measured: list[parts.Measured]
    cost: parts.Cost | None
    probes: list[parts.Probe]
    reason: str
    """Why the search ended."""
    opinion: parts.Opinion | None
    record: parts.Record


def schema() -> str:
    """The schema as buildbot_bench/report.schema.json holds it."""
    described = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Report.model_json_schema(),
        "title": "The report of a Buildbot Bench search",
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
