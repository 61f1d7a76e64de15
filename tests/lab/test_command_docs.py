"""What the page on measuring a command shows can be written so; every key and preset is there."""

from dataclasses import fields
from pathlib import Path

from buildbot_bench.lab.command.settings import PRESETS, CommandWorkload
from buildbot_bench.lab.tables import load_testbeds
from buildbot_bench.workflow.load import load
from tests.readme import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "measure-a-command.md").read_text(
    encoding="utf-8"
)
HEAD = "name: Docs\nrepository: src\non: {push: {branches: [main]}}\n"


def block(language):
    (found,) = blocks(language, "docs/how-to/measure-a-command.md")
    return found


def test_its_testbed_and_its_jobs_are_sound(tmp_path):
    (tmp_path / "testbeds.toml").write_text(block("toml"), encoding="utf-8")
    (tmp_path / "bench.yml").write_text(HEAD + block("yaml"), encoding="utf-8")
    workloads = load_testbeds(tmp_path / "testbeds.toml")["runner"].settings.workloads
    assert load(tmp_path / "bench.yml").bench_jobs[0].workloads == tuple(workloads)


def test_it_names_each_key_and_each_preset():
    names = {field.name.replace("_", "-") for field in fields(CommandWorkload)} | set(PRESETS)
    assert {
        name for name in names if f"`{name}`" not in PAGE and f'`"{name}"`' not in PAGE
    } == set()
