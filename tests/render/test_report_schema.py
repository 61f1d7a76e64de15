"""The published schema is that of the reports which are written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from buildbot_bench.core.report import to_json
from buildbot_bench.render.report_schema import Report
from tests.fakes import counted_report, reports

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "buildbot_bench" / "report.schema.json"
MADE = [
    reports.iflib,
    reports.proven,
    reports.broken_range,
    reports.improvement,
    reports.hostile,
    reports.not_reproduced,
    reports.inconclusive,
    reports.unprofiled,
    counted_report.counted,
]


def test_the_schema_is_current(request: pytest.FixtureRequest) -> None:
    command = [sys.executable, "-m", "buildbot_bench.render.report_schema"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(printed, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("made", MADE)
def test_every_report_keeps_to_it(made) -> None:
    Report.model_validate_json(json.dumps(to_json(made())))


def test_a_report_with_captures_keeps_to_it(data) -> None:
    Report.model_validate_json(json.dumps(to_json(reports.profiled(data))))


def test_the_golden_report_keeps_to_it() -> None:
    Report.model_validate_json((ROOT / "tests" / "golden" / "report.json").read_text())


@pytest.mark.parametrize("change", [{"kind": "guess"}, {"new_key": 1}, {"commits": -1}])
def test_what_is_no_report_does_not(change) -> None:
    with pytest.raises(ValidationError):
        Report.model_validate_json(json.dumps(to_json(reports.iflib()) | change))


def test_what_is_missing_is_missed() -> None:
    told = to_json(reports.iflib())
    for key in told:
        with pytest.raises(ValidationError):
            Report.model_validate_json(json.dumps({k: v for k, v in told.items() if k != key}))


def test_each_part_is_described() -> None:
    described = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    assert all(part["description"] for part in described.values())
