"""What `make bench` says of comparisons: recorded neighbours, and simulated ones."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import comparison_worlds, comparisons
from benchmarks.comparison_worlds import ComparedWorld, compared
from benchmarks.judge_replay import read_series


def test_no_world_of_comparisons_knows_a_number_of_the_model() -> None:
    for module in (comparisons, comparison_worlds):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        names = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert not names & {"constants", "ARCHIVE", "Prior"}


def test_the_apu2s_neighbours_are_seldom_called_changed() -> None:
    years = [one for one in read_series() if comparisons.DUT in one.name]
    blind, learnt = (comparisons.recorded(way, years) for way in comparisons.WAYS[:2])
    assert blind["neighbours"] + blind["changes"] == 162
    assert blind["called_changed"] <= 0.01 * blind["neighbours"]
    assert blind["of_these_not_separated"] == 0
    assert learnt["called_changed"] <= 0.05 * learnt["neighbours"]
    assert (learnt["changes_found"], learnt["changes"]) == (3, 3)
    assert learnt["verdict"] == "reached"


def test_simulated_comparisons_are_told_with_boots_images_and_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert comparisons.main(["--only=-9 %", "--replicates=6", f"--out={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    assert "found ≥ 99%: " in printed
    assert "images of each side" in printed
    rows = json.loads((tmp_path / "comparisons.json").read_text(encoding="utf-8"))
    (learnt, new) = (row for row in rows if "case" in row)
    assert learnt["replicates"] == 6
    assert learnt["boots"][0] >= 2 * learnt["images"][0] >= 4
    assert new["beforehand"][0] >= learnt["beforehand"][0]


def test_a_comparison_goes_on_until_it_is_decided() -> None:
    boots = np.array([-0.01, 0.0, 0.01])
    world = ComparedWorld(effect=0.0, looked_for=0.09, boots=boots)
    told = compared(world, np.random.default_rng(5))
    assert told.found.verdict.kind == "no difference"
    assert told.looks > 1
    assert told.images >= told.at_first == 2
