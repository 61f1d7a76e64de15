"""The archive's four published comparisons come out as published, block for block.

The recorded boots are played by the replay testbed, whose values go the way of any comparison's.
"""

import gzip
import hashlib
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.core.compare.directory import BootLog, result_files
from buildbot_bench.core.compare.model import (
    ComparisonReport,
    SeriesValues,
    Verdict,
)
from buildbot_bench.core.compare.schedule import next_block
from buildbot_bench.core.compare.text import text
from buildbot_bench.core.sample import PPS
from buildbot_bench.lab.driver import Blast, Dut
from buildbot_bench.lab.tables import choose, load_testbeds, make_driver
from tests.fakes.compared import comparison_of

TESTBEDS = Path(__file__).parents[3] / "workers" / "lab" / "testbeds.toml"
WORKLOADS = ("forwarding", "ipfw-statefull", "pf-statefull")

# Testbed, base, new, boots of each, where it was published, the published changes in percent.
CASES = [
    ("replay-vimage", "r317849", "r317849+VIMAGE", 5, "AMD_GX-412TC_4Cores", (1.45, 4.51, -2.40)),
    ("replay-d8526", "r299288", "r299288+D8526", 10, "Atom_C2558_4Cores", (32.5, 15.4, 8.4)),
    ("replay-d5330", "r295802", "r295802+D5330", 10, "Atom_C2558_4Cores", (-9.0, -10.6, -10.1)),
    ("replay-mbuf", "r295150", "r295150+mbuf", 10, "Atom_C2558_4Cores", (None, None, None)),
]


class Played:
    """One case, measured from end to end on its testbed; `boots` are those that gave a value."""

    def __init__(self, home: Path, testbed: str, base: str, new: str, boots: int) -> None:
        self.testbed = testbed
        self.boots: list[BootLog] = []
        chosen = choose(load_testbeds(TESTBEDS), testbed)
        self._driver = make_driver(chosen, home / "lab")
        self._kernels = (home / "base", home / "new")
        for kernel, label in zip(self._kernels, (base, new), strict=True):
            kernel.write_text(f"{label}\n", encoding="utf-8")
        self.report = comparison_of(
            [self._series(workload, boots) for workload in WORKLOADS], (base, new), iterations=boots
        )

    def _series(self, workload: str, wanted: int) -> SeriesValues:
        values: tuple[list[float], ...] = ([], [])
        order: list[int] = []
        while block := next_block([{0: len(own)} for own in values], [{0: wanted}] * 2):
            for _ in range(block.iterations):
                blast = self._boot(block.variant, workload)
                values[block.variant].append(blast.values["pps"])
                order.append(block.variant)
                ordinal = len(values[block.variant])
                self.boots.append(
                    BootLog(
                        testbed=self.testbed,
                        workload=workload,
                        variant=block.variant,
                        ordinal=ordinal,
                        log=blast.log,
                    )
                )
        return SeriesValues(
            testbed=self.testbed,
            workload=workload,
            metric=PPS,
            values=tuple(map(tuple, values)),
            order=tuple(order),
            facts=self._driver.facts(),
        )

    def _boot(self, variant: int, workload: str) -> Blast:
        kernel = self._kernels[variant]
        digest = hashlib.sha256(kernel.read_bytes()).hexdigest()
        with Dut(self._driver, kernel, digest) as dut:
            dut.boot()
            dut.verify()
            return dut.blast(workload)


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Played]:
    return lambda *case: Played(tmp_path, *case[:4])


@pytest.fixture(scope="module")
def published(data: Path) -> list[dict]:
    with gzip.open(data / "ministat" / "blocks.jsonl.gz", "rt", encoding="utf-8") as rows:
        return [json.loads(row) for row in rows]


def body(block: str) -> list[str]:
    """A block without the names of its data sets."""
    return [line.expandtabs() for line in block.splitlines()[2:]]


def percent_line(line: str) -> bool:
    return "% +/- " in line


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_changes_are_those_that_were_published(play, case):
    for series, change in zip(play(*case).report.series, case[5], strict=True):
        (found,) = series.changes
        comparison = found.comparison
        if change is None:
            assert found.verdict in {Verdict.NO_DIFFERENCE, Verdict.UNDECIDED}
            assert not comparison.significant
        else:
            digits = 2 if case[0] == "replay-vimage" else 1
            assert round(comparison.difference_percent, digits) == change


def blocks_of(published: list[dict], case: tuple) -> list[dict]:
    """What was published of a case, a block for each workload."""
    name = case[2].removeprefix(f"{case[1]}+")
    place = f"{case[4]}/"
    blocks = [
        row
        for row in published
        if row["source"].startswith(place) and f".{case[1]}.{name}/" in row["source"]
    ]
    assert len(blocks) == len(WORKLOADS)
    return blocks


def assert_same_block(ours: list[str], row: dict) -> None:
    theirs = body(row["expected"].rstrip("\n"))
    if row["relative_error"] != "current":  # that one line was of an older formula
        ours = [line.split("+/-")[0] if percent_line(line) else line for line in ours]
        theirs = [line.split("+/-")[0] if percent_line(line) else line for line in theirs]
    assert ours == theirs


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_blocks_are_those_that_were_published(play, published, case):
    blocks = blocks_of(published, case)
    for series in play(*case).report.series:
        (row,) = [row for row in blocks if series.workload in row["datasets"][0]["label"]]
        assert_same_block(body(*series.ministat), row)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_result_directory_has_the_published_values_and_blocks(play, published, case):
    played = play(*case)
    files = result_files(played.report, played.boots)
    fenced = files["README.md"].split("```\n")[1::2]
    for workload, block in zip(WORKLOADS, fenced, strict=True):
        (row,) = [
            row for row in blocks_of(published, case) if workload in row["datasets"][0]["label"]
        ]
        assert_same_block(body(block.rstrip("\n")), row)
        for label, values in zip(case[1:3], row["datasets"], strict=True):
            image = label.removeprefix("r").replace("+", "")
            assert files[f"{image}.{workload}.pps"].split() == values["text"].split()


def test_one_image_without_a_history_decides_nothing(play):
    changes = [series.changes[0] for series in play(*CASES[0]).report.series]
    verdicts = [change.verdict for change in changes]
    assert verdicts == [Verdict.UNDECIDED] * 3
    assert [change.beyond_luck.said for change in changes[1:]] == [
        "cannot be decided with one image of each, better by Student's t",
        "cannot be decided with one image of each, worse by Student's t",
    ]
    assert changes[1].beyond_luck.effect == pytest.approx(changes[1].effect, abs=0.001)


def test_the_answer_is_a_table_and_the_blocks(play, golden):
    golden("comparison/vimage.txt", text(play(*CASES[0]).report))


def test_the_result_directory_has_the_archives_files(play, golden):
    played = play(*CASES[0])
    files = result_files(played.report, played.boots)
    golden("comparison/vimage.files", "".join(f"{name}\n" for name in sorted(files)))
    golden("comparison/vimage.README.md", files["README.md"])
    golden("comparison/vimage.gnuplot.data", files["gnuplot.data"])
    assert files["317849VIMAGE.forwarding.pps"] == "481840\n484839\n482587\n484511\n485271\n"


def test_every_lab_that_is_named_here_is_one_of_the_lists():
    assert {case[0] for case in CASES} <= set(tomllib.loads(TESTBEDS.read_text())["testbeds"])


def test_a_report_says_what_it_lacks(play):
    report: ComparisonReport = comparison_of(
        [
            SeriesValues(testbed="apu", workload="forwarding", metric=PPS, values=((1.0,), (1.0,))),
        ],
        ("r1", "r1+D5"),
        detail="D5 does not apply:\n\x1b[31m sys/net/if.c, hunk 3",
    )
    answer = text(report)
    assert report.series[0].changes[0].verdict is Verdict.UNDECIDED
    assert "D5 does not apply: \ufffd[31m sys/net/if.c, hunk 3" in answer
    assert "r1+D5 forwarding (pps) has 1 value. Student's t needs 3." in answer
