"""What is published of bench.yml: the example, and the schema that editors read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from buildbot_bench.workflow.load import load

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "buildbot_bench" / "bench.schema.json"


def test_the_example_is_a_workflow() -> None:
    workflow = load(ROOT / "bench.yml")
    assert workflow.repository_url == str(ROOT / ".farm" / "src")
    assert workflow.bench_jobs[0].testbeds == ("embedded",)


def test_the_example_names_the_schema_for_editors() -> None:
    first = (ROOT / "bench.yml").read_text(encoding="utf-8").splitlines()[0]
    assert first == f"# yaml-language-server: $schema={SCHEMA.relative_to(ROOT)}"


def test_the_schema_is_current(request: pytest.FixtureRequest) -> None:
    command = [sys.executable, "-m", "buildbot_bench.workflow"]
    printed = subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout
    if request.config.getoption("--update-golden"):
        SCHEMA.write_bytes(printed)
    assert SCHEMA.read_bytes() == printed


def test_the_schema_describes_the_keys_as_they_are_written() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert set(schema["properties"]) >= {"name", "repository", "on", "jobs", "testbeds", "mail"}
    assert schema["required"] == ["name", "jobs"]
    forms = [{"required": ["repository"]}, {"required": ["repositories"]}]
    assert schema["oneOf"] == forms
    assert schema["additionalProperties"] is False
    bench = schema["$defs"]["BenchJob"]["properties"]
    assert set(bench) == {"needs", "runs-on", "strategy", "iterations", "timeout-minutes"}
    alone, listed = bench["runs-on"]["anyOf"]
    assert alone["type"] == "string"
    assert listed == {"type": "array", "items": alone, "minItems": 1}
