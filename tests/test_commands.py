"""A command is started, or says what to install; a defect of ours is not taken for that."""

import sys
from importlib import metadata

import pytest

from buildbot_bench import commands


def test_a_command_whose_extra_is_there_is_started(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bench-lab"])
    with pytest.raises(SystemExit) as ended:
        commands.start("bench-lab", "lab.cli", "cli")
    assert ended.value.code == 2
    assert "the following arguments are required" in capsys.readouterr().err


def test_each_extra_that_a_command_names_is_one():
    extras = metadata.metadata("buildbot-bench").get_all("Provides-Extra")
    for name in ("bench_farm", "bench_import"):
        assert getattr(commands, name).args[2] in extras
    for name in ("bench_bisect", "bench_comment", "bench_compare", "bench_judge", "bench_ministat"):
        assert len(getattr(commands, name).args) == 2


def test_a_module_of_ours_that_is_missing_is_a_defect():
    with pytest.raises(ModuleNotFoundError):
        commands.start("bench-bisect", "no_such_module", "cli")


SCRIPTS = sorted(
    (
        script
        for script in metadata.distribution("buildbot-bench").entry_points
        if script.group == "console_scripts"
    ),
    key=lambda script: script.name,
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_each_command_says_its_version(script, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [script.name, "--version"])
    try:
        status = script.load()()
    except SystemExit as ended:
        status = ended.code
    assert not status
    assert capsys.readouterr().out == f"{script.name} {metadata.version('buildbot-bench')}\n"
