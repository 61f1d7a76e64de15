"""A comparison on a real farm whose master dies meanwhile: no boot is lost, none made twice."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.demo.farm import USER
from buildbot_bench.plugin.operations.netbenches import Group, read_archive
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.running import ran

pytestmark = pytest.mark.e2e

PAIR = ("r311848", "r311849")
IFLIB = ("r311848", "r311849", "r312904", "r312905", "r313448")
PUBLISHED = "AMD_GX-412TC_4Cores/Intel_i210AT/firewalls/results/fbsd12-head.iflib/README.md"
BOOTS = 5


@pytest.fixture(scope="module")
def farm(farms: Callable[..., ReplayFarm]) -> ReplayFarm:
    """Who boots first has the recorded values: here that is a comparison, and not the tip."""
    return farms(Shape(tip=IFLIB[-1], commits=False))


def compare(farm: ReplayFarm, *arguments: str) -> str:
    """What bench-compare answers, as somebody at a shell asks it."""
    login = {
        "BENCH_FARM": farm.url,
        "BENCH_USER": USER,
        "BENCH_PASSWORD_FILE": str(farm.local.plan.password_file),
    }
    done = ran(
        [sys.executable, "-m", "buildbot_bench.cli.compare", *arguments],
        env=os.environ | login,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_iflib_comes_out_as_it_was_published(farm: ReplayFarm, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "iflib"
    answer = compare(farm, *IFLIB, "--label", "r313448=last of them", "--output", str(place))
    with gzip.open(data / "ministat" / "blocks.jsonl.gz", "rt", encoding="utf-8") as rows:
        (published,) = [row for row in map(json.loads, rows) if row["source"] == PUBLISHED]
    assert figures(answer, len(IFLIB)) == figures(published["expected"], len(IFLIB))
    assert "last of them is r313448" in answer
    assert len(list(place.glob("*.pps"))) == len(IFLIB)
    assert (place / "README.md").read_text().startswith("4 variants against r311848")
    assert (place / "graph.png").read_bytes().startswith(b"\x89PNG")
    listed = compare(farm, "--list")
    assert re.search(r"forwarding: \d worse \((most )?r\d+ -\d+\.\d\d %\)", listed), listed

    # More boots, and one more variant: nothing is measured again.
    boots = measured(farm)
    assert boots == BOOTS * len(IFLIB)
    answer = compare(farm, "--extend", "1", "-n", "+1", "r311850", "--json")
    assert measured(farm) == boots + len(IFLIB) + BOOTS + 1
    report = json.loads(answer)
    assert [one["label"] for one in report["variants"]][-2:] == ["last of them", "r311850"]
    assert [len(one["values"]) for one in report["series"][0]["samples"]] == [BOOTS + 1] * 6
    assert any("r311850 was booted" in note for note in report["series"][0]["notes"])


def test_a_comparison_outlives_its_master(farm: ReplayFarm, tmp_path: Path) -> None:
    place, before = tmp_path / "result", measured(farm)
    farm.let_blasts_last(0.5)
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
            farm.wait(lambda n=boots: measured(farm) >= before + n, f"{boots} boots")
            farm.kill("master")
            farm.resume("master")
        answer, progress = asked.communicate(timeout=300)
    finally:
        asked.kill()
    assert asked.returncode == 0, progress
    # Another comparison had the recorded values: this one redraws from them.
    (series,) = json.loads(answer)["series"]
    (change,) = series["changes"]
    assert change["verdict"] == "worse"
    assert change["effect"] == pytest.approx(-0.256, abs=0.01)
    assert measured(farm) == before + 2 * BOOTS
    sides = farm.rows(
        "SELECT i.image_id, count(*) AS boots FROM bench_iteration i JOIN bench_probe p"
        " ON p.id = i.probe_id WHERE p.ab_test_id = (SELECT max(id) FROM bench_ab_test)"
        " GROUP BY i.image_id"
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
    samples = zip(PAIR, series["samples"], strict=True)
    written = {name: tuple(sample["values"]) for name, sample in samples}
    read = {group.revision: group for group in read_archive(place) if isinstance(group, Group)}
    assert {name: tuple(b.value for b in group.boots) for name, group in read.items()} == written


def figures(text: str, variants: int) -> list[str]:
    """What stands of so many data sets in the table of a ministat block."""
    lines = [line.rstrip() for line in text.expandtabs().splitlines()]
    heading = next(n for n, line in enumerate(lines) if line.startswith("    N  "))
    # The base has one line, each of the others four more that say how it differs.
    return lines[heading + 1 : heading + 2 + 5 * (variants - 1)]


def measured(farm: ReplayFarm) -> int:
    """How many boots of comparisons are in the tables."""
    return int(
        farm.value(
            "SELECT count(*) FROM bench_iteration i JOIN bench_probe p ON p.id = i.probe_id"
            " WHERE p.ab_test_id IS NOT NULL"
        )
        or 0
    )
