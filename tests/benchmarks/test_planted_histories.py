"""What `make bench` says of planted histories: made up, compiled, searched by commands."""

import ast
import subprocess
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks.commands import command, planting, repository, table, threshold, ways
from benchmarks.commands.command import CASES, Case, searched
from benchmarks.commands.planting import plant
from benchmarks.commands.table import Outcome
from buildbot_bench.core.errors import UsageError

OUTCOME = Outcome(
    case="-5 %",
    history=0,
    way="ours",
    slow=7,
    noise=0.015,
    load=0.1,
    build_s=6.0,
    named=7,
    said="",
    runs=30,
    revisions=9,
    most_runs=8,
    wall_s=12.0,
)


def test_no_planted_history_knows_a_number_of_the_model() -> None:
    for module in (planting, repository, threshold):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name for name in imported if name and name.startswith("buildbot_bench")}


def test_a_seed_plants_one_history_and_another_seed_another() -> None:
    one, again, other = (plant(-0.03, seed) for seed in ("a", "a", "b"))
    assert one == again
    assert one != other
    assert len(one.commits) == planting.COMMITS


def test_one_commit_is_slow_by_the_share_that_was_asked_for() -> None:
    history = plant(-0.25, "a")
    kinds = [commit.kind for commit in history.commits]
    assert [n for n, kind in enumerate(kinds, start=1) if kind == "slow"] == [history.slow]
    assert {"words", "helper", "order", "check", "stages"} <= set(kinds)
    slow = [("p->due += 3333;" in commit.files["pack.c"]) for commit in history.commits]
    assert slow == [number >= history.slow for number in range(1, 65)]
    assert plant(0.0, "a").slow == 0


def test_code_moves_by_luck_only_where_it_is_not_aligned() -> None:
    for aligned in (True, False):
        first = plant(-0.25, "a", aligned=aligned).first["Makefile"]
        assert ("-falign-loops" in first) is aligned


@pytest.mark.timeout(600)
def test_real_commands_search_a_compiled_history_and_are_told_with_the_truth() -> None:
    case = Case(name="-60 %", effect=-0.6)
    git_run = partial(ways.bisect_run, runs=1)
    told = list(searched(case, 1, {"ours": ways.ours, "git": git_run}, 240.0, commits=8))
    ours, git = sorted(told, key=lambda one: one.way == "git")
    assert (ours.way, git.way) == ("ours", "git")
    assert ours.named == ours.slow
    assert git.slow == ours.slow
    assert git.named in range(1, 9)  # it trusts a single run, which another program may delay
    assert 4 <= git.runs <= 6
    assert ours.revisions >= 2
    assert ours.most_runs >= 2
    assert ours.runs >= ours.revisions - 1 + ours.most_runs  # each of the others has one


def test_a_way_that_does_not_end_is_ended(tmp_path: Path) -> None:
    began_s = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        ways._run(["sh", "-c", "sleep 60 & wait"], tmp_path, 0.2)
    assert time.monotonic() - began_s < 10


def test_the_table_counts_wrong_answers_and_none_apart(capsys: pytest.CaptureFixture[str]) -> None:
    five = [replace(OUTCOME, way="git bisect run, 5", runs=40)] * 2
    ours = [OUTCOME, replace(OUTCOME, named=3, runs=32), replace(OUTCOME, named=None, runs=34)]
    table.show(["-5 %"], [*ours, *five])
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].split()[:6] == ["-5", "%", "git", "bisect", "run,", "5"]
    assert " ".join(printed[2].split()) == "-5 % ours 3 1 1 32.0 ± 1.2 0.20 ± 0.00"
    assert printed[3] == "  wanted: wrong or none of ours ≤ 0%: MISSED"
    assert printed[4] == "  wanted: runs of ours < 40: reached"
    assert "differed by 1.5%" in printed[5]


def test_what_was_searched_is_not_searched_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "commands.jsonl"
    names = ["git bisect run, 1", "git bisect run, 5", "hyperfine, 10", "ours", "git_bayesect"]
    for name in names:
        command._write(log, replace(OUTCOME, way=name))
    program = tmp_path / "venv" / "bin" / "git-bayesect"
    program.parent.mkdir(parents=True)
    program.touch()
    assert _main(tmp_path, "--effects=-5 %") == 0
    assert capsys.readouterr().out.count("0.20 ± 0.00") == len(names)


def test_an_effect_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no case '-4 %'"):
        _main(tmp_path, "--effects=-4 %")
    assert {case.effect for case in CASES} == {-0.01, -0.03, -0.05, -0.25}


def _main(home: Path, *options: str) -> int:
    return command.main(["--histories=1", f"--out={home}", f"--venv={home / 'venv'}", *options])
