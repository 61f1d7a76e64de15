"""A comparison on a real farm whose master dies meanwhile: no boot is lost, none made twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.plugin.importing.archive import Group, read_archive
from tests.e2e.replay_farm import ReplayFarm, Shape

pytestmark = pytest.mark.e2e

PAIR = ("r311848", "r311849")
SIDES = dict(zip(PAIR, ("old", "new"), strict=True))
BOOTS = 5


def test_a_comparison_outlives_its_master(farms: Callable[..., ReplayFarm], tmp_path: Path) -> None:
    farm = farms(Shape(tip="r311849", blast_s=0.5))
    place = tmp_path / "result"
    login = ["--user", "bench", "--password-file", str(farm.local.plan.password_file)]
    command = [sys.executable, "-m", "buildbot_bench.cli.compare", "--farm", farm.url, *login]
    asked = subprocess.Popen(
        [*command, *PAIR, "--json", "--output", str(place)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for boots in (2, 6):
            farm.wait(lambda boots=boots: measured(farm) >= boots, f"{boots} boots")
            farm.kill("master")
            farm.resume("master")
        answer, progress = asked.communicate(timeout=300)
    finally:
        asked.kill()
    assert asked.returncode == 0, progress
    # Who boots first, commit or comparison, has the recorded values; the other redraws from them.
    (comparison,) = json.loads(answer)["series"]
    assert comparison["verdict"] == "worse"
    assert comparison["effect"] == pytest.approx(-0.256, abs=0.01)
    assert measured(farm) == 2 * BOOTS
    sides = farm.rows(
        "SELECT i.image_id, count(*) AS boots FROM bench_iteration i JOIN bench_probe p"
        " ON p.id = i.probe_id WHERE p.ab_test_id IS NOT NULL GROUP BY i.image_id"
    )
    assert [side["boots"] for side in sides] == [BOOTS, BOOTS]
    assert (place / "README.md").read_text().startswith("r311849 against r311848")
    assert len(list((place / "RAW").glob("*.receiver"))) == 2 * BOOTS
    for name, magic in (
        ("graph.png", b"\x89PNG"),
        ("graph.svg", b"<?xml"),
        ("gnuplot.plt", b"# gnuplot"),
    ):
        assert (place / name).read_bytes().startswith(magic)
    written = {name: tuple(comparison["contrast"][side]["values"]) for name, side in SIDES.items()}
    read = {group.revision: group for group in read_archive(place) if isinstance(group, Group)}
    assert {name: tuple(b.value for b in group.boots) for name, group in read.items()} == written


def measured(farm: ReplayFarm) -> int:
    """How many boots of comparisons are in the tables."""
    return int(
        farm.value(
            "SELECT count(*) FROM bench_iteration i JOIN bench_probe p ON p.id = i.probe_id"
            " WHERE p.ab_test_id IS NOT NULL"
        )
        or 0
    )
