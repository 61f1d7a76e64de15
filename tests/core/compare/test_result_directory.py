"""A result directory beside the archive's own of the same comparison, file by file.

Of fbsd12-head.r317849.VIMAGE of the APU2 there are at hand: the values of every .pps, the ministat
blocks of README.md, and some of the logs. Not at hand, and so not compared: its graph, .info and
the prose of its README.
"""

import gzip
import json
from pathlib import Path, PurePosixPath
from statistics import median

import pytest

from buildbot_bench.core.compare.directory import BootLog, result_files
from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.sample import PPS
from buildbot_bench.lab.pktgen import Reading, parse_receiver
from tests.fakes.compared import comparison_of

PLACE = "AMD_GX-412TC_4Cores/Intel_i210AT/firewalls/results/fbsd12-head.r317849.VIMAGE"
WORKLOADS = ("forwarding", "ipfw-statefull", "pf-statefull")
BASE, NEW = "317849", "317849VIMAGE"


def rows(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if row["source"].startswith(PLACE)]


@pytest.fixture(scope="module")
def theirs(data: Path) -> dict[str, str]:
    """The archive's files, as far as they are at hand."""
    files: dict[str, str] = {}
    for workload, block in zip(WORKLOADS, rows(data / "ministat" / "blocks.jsonl.gz"), strict=True):
        for image, values in zip((BASE, NEW), block["datasets"], strict=True):
            files[f"{image}.{workload}.pps"] = values["text"]
    for log in rows(data / "comparison" / "vimage_logs.jsonl.gz"):
        files[f"RAW/{PurePosixPath(log['source']).name}"] = log["text"]
    return files


@pytest.fixture(scope="module")
def ours(theirs: dict[str, str]) -> dict[str, str]:
    """What we write of the archive's boots."""
    values = {
        name: tuple(float(line) for line in text.split())
        for name, text in theirs.items()
        if name.endswith(".pps")
    }
    all_series = [
        SeriesValues(
            testbed="apu2",
            workload=workload,
            metric=PPS,
            values=tuple(values[f"{image}.{workload}.pps"] for image in (BASE, NEW)),
            facts={"dut": "AMD GX-412TC"},
        )
        for workload in WORKLOADS
    ]
    report = comparison_of(all_series, ("r317849", "r317849+VIMAGE"))
    boots = [
        BootLog(
            testbed="apu2",
            workload=workload,
            variant=variant,
            ordinal=ordinal,
            log=theirs.get(f"RAW/bench.{image}.{workload}.{ordinal}.receiver", "not at hand\n"),
        )
        for workload in WORKLOADS
        for variant, image in enumerate((BASE, NEW))
        for ordinal in range(1, 6)
    ]
    return result_files(report, boots)


def test_every_file_of_theirs_is_there_and_the_same(ours, theirs):
    assert len([name for name in theirs if name.startswith("RAW/")]) == 3
    assert {name: ours.get(name) for name in theirs} == theirs


def test_each_log_gives_its_line_of_the_values(ours, theirs):
    for name, text in theirs.items():
        if name.startswith("RAW/"):
            image, workload, ordinal = name.split(".")[1:4]
            reading = parse_receiver(text)
            assert isinstance(reading, Reading)
            line = ours[f"{image}.{workload}.pps"].split()[int(ordinal) - 1]
            assert reading.median_pps == float(line)


def test_gnuplot_data_holds_median_least_and_most_of_each(ours, theirs):
    """`bench-lab-ministat.sh` writes `#index median minimum maximum` and `IMAGE.CFG M L H`."""
    heading, *lines = ours["gnuplot.data"].splitlines()
    assert heading == "#index median minimum maximum"
    expected = {}
    for name, text in theirs.items():
        if name.endswith(".pps"):
            values = [float(value) for value in text.split()]
            expected[name.removesuffix(".pps")] = [median(values), min(values), max(values)]
    written = {line.split()[0]: [float(field) for field in line.split()[1:]] for line in lines}
    assert written == expected


def test_readme_has_bullets_graph_and_a_block_for_each_workload(ours):
    readme = ours["README.md"]
    bullets, graph = readme.index("  - dut: "), readme.index("](graph.png)")
    assert bullets < graph < readme.index("```")
    assert readme.count("Difference at 95.0% confidence") == len(WORKLOADS)


def test_nothing_else_is_written(ours, theirs):
    more = {PurePosixPath(name).suffix for name in set(ours) - set(theirs)}
    assert more == {".md", ".data", ".plt", ".info", ".receiver"}
