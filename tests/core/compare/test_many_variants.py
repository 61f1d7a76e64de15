"""Seven variants as the archive published them, sixteen as it never did, and what is lacking."""

import gzip
import json
import re
from pathlib import Path

import pytest

from buildbot_bench.core.compare.directory import image_names, result_files
from buildbot_bench.core.compare.model import (
    ComparisonReport,
    FlameGraphs,
    SeriesValues,
)
from buildbot_bench.core.compare.text import markdown, text
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.sample import PPS
from tests.fakes.compared import comparison_of

Values = tuple[float, ...]
IFLIB = "AMD_GX-412TC_4Cores/Intel_i210AT/firewalls/results/fbsd12-head.iflib/README.md"
# The two patched ones are called as published.
LABELS = ("r311848", "r311849", "r312904", "r312905", "r313448", "perf_netmap", "noprefetch")
PLACE = {"testbed": "apu2", "workload": "forwarding", "metric": PPS}


def composed(
    *values: Values, labels: tuple[str, ...] = (), series: int = 1, **more: object
) -> ComparisonReport:
    names = labels or tuple(f"r{n + 1}" for n in range(len(values)))
    each = [SeriesValues(**PLACE, values=values, **more) for _ in range(series)]
    return comparison_of(each, names, comparison_id=7, iterations=len(values[0]))


@pytest.fixture(scope="module")
def published(data: Path) -> dict:
    with gzip.open(data / "ministat" / "blocks.jsonl.gz", "rt", encoding="utf-8") as rows:
        (row,) = [row for row in map(json.loads, rows) if row["source"] == IFLIB]
    return row


@pytest.fixture(scope="module")
def iflib(published: dict) -> ComparisonReport:
    values = [tuple(map(float, one["text"].split())) for one in published["datasets"]]
    return composed(*values, labels=LABELS)


def test_seven_variants_are_one_block_as_published(iflib, published):
    (series,) = iflib.series
    (block,) = series.ministat
    theirs = published["expected"].rstrip("\n").splitlines()
    assert block.expandtabs().splitlines()[7:] == theirs[7:]
    assert [line[0] for line in block.splitlines()[:7]] == list("x+*%#@O")


def test_each_new_variant_is_held_against_the_first(iflib):
    (series,) = iflib.series
    found = [round(100 * change.effect, 2) for change in series.changes]
    assert found == [-25.59, -8.24, -6.22, -18.93, -9.13, -4.85]
    assert iflib.title == "6 variants against r311848"


def test_the_answer_is_one_table_and_one_block(iflib, golden):
    golden("comparison/iflib.txt", text(iflib))
    golden("comparison/iflib.md", markdown(iflib))


def test_the_result_directory_has_a_file_for_each_variant(iflib):
    files = result_files(iflib, [])
    assert sum(name.endswith(".pps") for name in files) == len(LABELS)
    assert len(files["gnuplot.data"].splitlines()) == 1 + len(LABELS)
    assert files["README.md"].count("```") == 2


def test_ministat_takes_seven_so_sixteen_are_three_blocks_each_with_the_base():
    values = [(100.0 + n, 101.0 + n, 102.5 + n) for n in range(16)]
    (series,) = composed(*values).series
    assert [block.count("Difference at") + block.count("No diff") for block in series.ministat] == [
        *(6, 6, 3)
    ]
    assert all(block.startswith("x r1 forwarding") for block in series.ministat)
    shown = [line for block in series.ministat for line in block.splitlines() if " r" in line]
    assert [line.split()[1] for line in shown if line.split()[1] != "r1"] == [
        f"r{n}" for n in range(2, 17)
    ]
    assert "part 2 of 3" in markdown(composed(*values))


def test_the_models_p_is_corrected_for_the_whole_table():
    base, other, far = (10.0, 10.1, 10.2), (10.1, 10.2, 10.3), (10.15, 10.3, 10.4)
    shared = {"kernels": (1, 1, 1)}
    one = composed(base, other, kernels=(1, 1)).series[0].changes[0]
    assert one.p_value < one.p_corrected
    alone = [
        change.p_corrected for change in composed(base, other, far, **shared).series[0].changes
    ]
    report = composed(base, other, far, series=2, **shared)
    twice = [change.p_corrected for change in report.series[0].changes]
    assert report.tests == 4
    assert all(more >= less for more, less in zip(twice, alone, strict=True))
    assert "corrected for 4 tests." in text(report)


def test_one_image_of_each_without_a_history_has_no_p_of_the_model():
    report = composed((1.0, 2.0, 3.0), (2.0, 3.1, 4.0))
    (change,) = report.series[0].changes
    assert (change.p_corrected, report.tests) == (None, 0)
    assert change.p_value is not None


def test_one_that_has_too_few_values_keeps_nothing_from_the_others():
    report = composed((1.0, 2.0, 3.0), (1.0,), (2.0, 3.0, 4.0))
    (series,) = report.series
    assert [str(change.verdict) for change in series.changes] == ["undecided", "undecided"]
    assert series.changes[0].p_corrected is None
    assert report.tests == 0
    (block,) = series.ministat
    assert "r2" not in block
    few = "sample has only 3 iterations: 5 or more are needed to trust its spread"
    assert series.notes == (
        "r2 forwarding (pps) has 1 value. Student's t needs 3.",
        f"the reference {few}",
        f"the other {few}",
    )


def test_boots_that_came_late_are_told():
    values = ((1.0, 2.0, 3.0),) * 3
    told = composed(*values, order=(0, 1, 1, 0, 0, 1, 2, 2, 2)).series[0].notes
    assert any("on average, r3 was booted 5 boots later than r1" in note for note in told)
    balanced = composed(*values, order=(0, 1, 2, 2, 1, 0, 1, 2, 0)).series[0].notes
    assert not any("booted" in note for note in balanced)


def test_what_a_label_stands_for_is_said():
    report = comparison_of(
        [SeriesValues(**PLACE, values=((1.0, 2.0, 3.0), (1.0, 2.0, 3.0)))],
        {"before": "r1", "IF\x1bLIB": "r2+file:x"},
        iterations=3,
    )
    assert "before is r1\nIF\ufffdLIB is r2+file:x\n" in text(report)
    assert "* before is r1\n" in markdown(report)


def test_flame_graphs_are_told_of_each_variant_that_was_sampled():
    graphs = FlameGraphs(base="b.svg", new="n.svg", difference="d.svg")
    values = ((1.0, 2.0, 3.0),) * 3
    told = text(composed(*values, flame_graphs={2: graphs}))
    assert "flame graph of the base: b.svg\nof r3: n.svg\n" in told
    assert "of r2: " not in told


def test_files_of_different_variants_have_different_names():
    names = image_names(["r1+D5", "1D5", "1+D5", "a/b", "a?b"])
    assert names == ("1D5", "1D5.2", "1D5.3", "a-b", "a-b.2")


def test_of_a_command_runs_and_a_machine_are_spoken_of():
    values = ((100.0, 101.0, 99.0), (100.2, 100.9, 99.1))
    more = {"booted": ((0, 1, 1), (0, 1, 0)), "order": (0, 0, 0, 1, 1, 1)}
    report = composed(*values, item=ItemUnderTest.COMMAND, **more)
    for told in (text(report), markdown(report)):
        assert "3 runs of each" in told
        assert "Runs alternate: r1, r2" in told
        assert "a steady drift of the machine" in told.lower()
        assert "r2 was run 3 runs later" in told
        assert not re.search(r"\b(boot(s|ed)?|kernels?|lab)\b", told, re.IGNORECASE)


def test_commands_beside_kernels_are_told_of_as_kernels():
    sides = ((100.0, 101.0, 99.0), (100.2, 100.9, 99.1))
    kinds = (ItemUnderTest.COMMAND, ItemUnderTest.KERNEL)
    both = [SeriesValues(**PLACE, values=sides, item=item) for item in kinds]
    report = comparison_of(both, ("a", "b"), iterations=3)
    assert "3 boots of each" in text(report)
