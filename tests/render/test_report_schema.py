"""The published schema is that of the reports which are written."""

import json
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from jsonschema import Draft202012Validator, ValidationError

from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.report.context import Opinion, OpinionKind
from buildbot_bench.core.report.model import AddedSection, AppliedFix, InsideMerge, Report
from tests.fakes import counted_report, reports
from tests.running import ran

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "buildbot_bench" / "report.schema.json"
MADE = [
    reports.iflib,
    reports.proven,
    reports.broken_range,
    reports.improvement,
    reports.race,
    reports.hostile,
    reports.not_reproduced,
    reports.slope,
    reports.inconclusive,
    reports.unprofiled,
    counted_report.counted,
]


def with_applied_fix() -> Report:
    """A report with what none of the others has."""
    report = reports.iflib()
    setting = replace(report.setting, carried=AppliedFix(fix="r311850", applied=3))
    opinion = Opinion(kind=OpinionKind.NOISE, author="ann", at_s=1.0)
    added = (AddedSection(title="Weather", lines=("rain",)),)
    times = RunTimes(wall_s=0.07, user_s=0.05, system_s=0.01)
    probes = tuple(replace(probe, times=times) for probe in report.probes)
    inside = (InsideMerge(merge=reports.revision(1), commits=2),)
    more = {"added": added, "inside": inside, "probes": probes}
    return replace(report, setting=setting, opinion=opinion, **more)


def validate(written: str) -> None:
    """What a program reads from the farm, against what the farm serves; JSON knows no NaN."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(written))


def written(report: Report) -> str:
    return json.dumps(to_json(report), allow_nan=False)


def test_the_schema_is_current(request: pytest.FixtureRequest) -> None:
    command = [sys.executable, "-m", "buildbot_bench.render.report_schema"]
    printed = ran(command, check=True).stdout
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(printed, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("made", MADE)
def test_every_report_keeps_to_it(made) -> None:
    validate(written(made()))


def test_a_report_with_captures_keeps_to_it(data) -> None:
    validate(written(reports.profiled(data)))


def test_a_report_with_an_opinion_and_an_applied_fix_keeps_to_it() -> None:
    validate(written(with_applied_fix()))


def test_the_golden_report_keeps_to_it() -> None:
    validate((ROOT / "tests" / "golden" / "report.json").read_text())


@pytest.mark.parametrize("change", [{"kind": "guess"}, {"new_key": 1}, {"commits": -1}])
def test_what_is_no_report_does_not(change) -> None:
    with pytest.raises(ValidationError):
        validate(json.dumps(to_json(reports.iflib()) | change))


def test_what_is_missing_is_missed() -> None:
    told = to_json(reports.iflib())
    for key in told:
        with pytest.raises(ValidationError):
            validate(json.dumps({k: v for k, v in told.items() if k != key}))


def records_of(kind: type) -> set[type]:
    """A dataclass and all that its fields hold, found without the help of the encoder."""
    found, hints = {kind}, list(get_type_hints(kind).values())
    while hints:
        hint = hints.pop()
        hints += get_args(hint)
        if is_dataclass(hint) and hint not in found:
            found.add(hint)
            hints += get_type_hints(hint).values()
    return found


def test_every_field_of_every_record_is_in_the_schema() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    records = records_of(Report)
    assert {record.__name__ for record in records} == {"Report", *schema["$defs"]}
    for record in records:
        described = schema if record is Report else schema["$defs"][record.__name__]
        named = {field.name for field in fields(record)}
        assert named <= set(described["properties"]) == set(described["required"]), record


def test_every_field_of_every_record_is_in_the_json(data) -> None:
    """What reports of all kinds hold between them, record by record."""
    unseen = records_of(Report)
    for report in (reports.profiled(data), *(made() for made in MADE), with_applied_fix()):
        told = [(report, to_json(report))]
        while told:
            value, shown = told.pop()
            if is_dataclass(value):
                unseen.discard(type(value))
                assert {field.name for field in fields(value)} <= set(shown)
                told += [(getattr(value, field.name), shown[field.name]) for field in fields(value)]
            elif isinstance(value, tuple):
                told += zip(value, shown, strict=True)
    assert unseen == set()


def test_each_part_is_described() -> None:
    described = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    assert all(part["description"] for part in described.values())
