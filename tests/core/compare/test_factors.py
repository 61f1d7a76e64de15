"""Factorial comparisons: what is asked, the archive's own of July 2026, and its intervals."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.compare.directory import result_files
from buildbot_bench.core.compare.factors import factors
from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.compare.text import markdown, text
from buildbot_bench.core.compare.variants import cell_label, cells_of, design_of
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.sample import PPS
from tests.fakes.compared import comparison_of

PATCH, TUNABLE = "patch=D58513", "simple_tx=dev.igb.0.iflib.simple_tx:0,1"
KERNELS = (0, 0, 1, 1)  # those without and with the patch
LABELS = tuple(cells_of("main", [PATCH, TUNABLE]).values())


def series(values: Sequence[Sequence[float]], kernels: tuple[int, ...] = KERNELS, **more):
    own = tuple(map(tuple, values))
    return SeriesValues(
        testbed="apu2", workload="forwarding", metric=PPS, values=own, kernels=kernels, **more
    )


@pytest.fixture(scope="module")
def published(data: Path) -> list[dict]:
    lines = (data / "netbenches" / "factors.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def of_archive(published: list[dict], tunable: str, workload: str) -> list[Sequence[float]]:
    """The cells in the order of LABELS; one that is missing has no values."""
    cells = {
        (row["factors"]["D58513"], row["factors"][tunable]): row["pps"]
        for row in published
        if row["workload"] == workload and tunable in row["factors"]
    }
    return [cells.get((patch, on), ()) for patch in (False, True) for on in (False, True)]


def test_all_combinations_are_asked_for_and_the_base_has_the_first_levels():
    assert cells_of("main", [PATCH, TUNABLE]) == {
        "main+sysctl:dev.igb.0.iflib.simple_tx=0": "patch=without, simple_tx=0",
        "main+sysctl:dev.igb.0.iflib.simple_tx=1": "patch=without, simple_tx=1",
        "main+D58513+sysctl:dev.igb.0.iflib.simple_tx=0": "patch=with, simple_tx=0",
        "main+D58513+sysctl:dev.igb.0.iflib.simple_tx=1": "patch=with, simple_tx=1",
    }
    assert design_of(LABELS) == {"patch": ("without", "with"), "simple_tx": ("0", "1")}


@pytest.mark.parametrize(
    ("given_factors", "words"),
    [
        (["a=D1"], "1 factor given, 2 to 4"),
        ([f"{name}=D{n}" for n, name in enumerate("abcde")], "5 factors given"),
        (["a=D1", "a=D2"], "a is there twice"),
        (["../a=D1", "b=D2"], "is no factor"),
        (["a=", "b=D2"], "is no factor"),
        (["a=D1", "b=x.y:1"], "no two or more values"),
        (["a=D1", "b=x.y:1,1"], "no two or more values"),
        (["a=x.x:0,1,2", f"b=x.y:{','.join(map(str, range(11)))}"], "33 combinations.* takes 32"),
        ([f"{name * 20}=D{n}" for n, name in enumerate("abc")], "shorter names"),
    ],
)
def test_what_is_no_design_is_refused(given_factors, words):
    with pytest.raises(UsageError, match=words):
        cells_of("main", given_factors)


def test_the_archives_percentages_come_out(published):
    values = of_archive(published, "simple_tx", "inet4")
    answer = factors(series(values), LABELS, confidence=95.0)
    assert answer is not None
    effects = {cell_label(one.at): one.effect for one in answer.simple if one.factor == "patch"}
    # The archive compares medians: 883,374 and 480,840 pps, 379,926 and 1,001,291.5 pps.
    assert effects == {
        "simple_tx=0": pytest.approx(480_840 / 883_374 - 1),
        "simple_tx=1": pytest.approx(1_001_291.5 / 379_926 - 1),
    }
    (interaction,) = answer.interactions
    assert interaction.is_there
    assert answer.best == {"patch": "with", "simple_tx": "1"}
    said = "\n".join(answer.sentences)
    assert "patch=with makes forwarding 45.6 % slower with simple_tx=0" in said
    assert "163.5 % faster with simple_tx=1" in said
    # The method says what one image of each kernel leaves open, and what it does not.
    assert "leaves open how much of what a change of the kernel does is luck" in answer.method
    assert "It is not part of what a tunable does, or of how a change" in answer.method


def test_a_tunable_that_does_nothing_without_the_patch_is_told_so(published):
    values = of_archive(published, "tx_abdicate", "inet4")
    answer = factors(series(values), LABELS, confidence=95.0)
    assert answer is not None
    (told,) = [line for line in answer.sentences if line.startswith("simple_tx=1")]
    assert "neither slower nor faster beyond chance with patch=without" in told
    assert "100.0 % faster with patch=with" in told


def test_a_missing_cell_is_told_and_what_needs_it_is_left_out(published):
    values = of_archive(published, "simple_tx", "inet6")
    answer = factors(series(values), LABELS, confidence=95.0)
    assert answer is not None
    assert answer.missing == ("patch=with, simple_tx=0", "patch=with, simple_tx=1")
    assert answer.interactions == answer.main == ()
    assert [one.factor for one in answer.simple] == ["simple_tx"]


def test_other_labels_make_no_factors():
    values = [(1.0, 2.0)] * 4
    assert factors(series(values), ("a", "b", "c", "d"), confidence=95.0) is None
    assert factors(series([()] * 4), LABELS, confidence=95.0) is None


@given(st.lists(st.floats(0.5, 2.0), min_size=4, max_size=4), st.floats(1.0, 1e9))
def test_without_noise_each_effect_is_the_ratio_of_its_cells(ratios, scale):
    values = [(ratio * scale,) * 3 for ratio in ratios]
    answer = factors(series(values), LABELS, confidence=95.0)
    assert answer is not None
    by_place = {(one.factor, cell_label(one.at)): one.effect for one in answer.simple}
    assert by_place["patch", "simple_tx=0"] == pytest.approx(ratios[2] / ratios[0] - 1)
    assert by_place["simple_tx", "patch=with"] == pytest.approx(ratios[3] / ratios[2] - 1)
    (interaction,) = answer.interactions
    assert 1 + interaction.ratio == pytest.approx(ratios[3] * ratios[0] / ratios[1] / ratios[2])


def test_intervals_cover_what_they_state_and_luck_of_images_widens_the_patchs_alone():
    rng, known = np.random.default_rng(31), learn([])
    trials, covered, widths = 300, np.zeros(3), []
    for _ in range(trials):
        luck = rng.normal(0.0, known.sigma_build, 2)
        boots = (
            rng.normal(0.0, 0.01, (4, 5)) + np.array([luck[0], luck[0], luck[1], luck[1]])[:, None]
        )
        boots += np.log([1.0, 0.9, 0.8, 0.6])[:, None]
        answer = factors(series(1e6 * np.exp(boots)), LABELS, confidence=95.0)
        assert answer is not None
        patch = next(one for one in answer.simple if one.factor == "patch")
        tunable = next(one for one in answer.simple if one.factor == "simple_tx")
        (both,) = answer.interactions
        truths = ((patch, 0.8), (tunable, 0.9), (both, 0.6 / 0.8 / 0.9))
        covered += [one.low <= truth - 1 <= one.high for one, truth in truths]
        widths.append([math.log1p(one.high) - math.log1p(one.low) for one, _ in truths])
    assert (covered / trials >= 0.93).all()
    patch, tunable, _ = np.mean(widths, axis=0)
    assert patch > 1.5 * tunable


def test_the_report_says_it_in_text_and_in_a_comment(published):
    values = of_archive(published, "simple_tx", "inet4")
    report = comparison_of([series(values)], LABELS, comparison_id=7)
    line = "The best combination is patch=with, simple_tx=1."
    assert f"\n{line}\n" in text(report)
    assert f"\n* {line}\n" in markdown(report)
    (series_report,) = report.series
    assert f"\n{series_report.factors.method}\n" in text(report)
    # As the archive publishes it: a file for each combination.
    files = result_files(report, [])
    assert [*map(float, files["patch-with-simple_tx-1.forwarding.pps"].split())] == values[3]
    assert sum(name.endswith(".pps") for name in files) == len(LABELS)
    assert line in files["README.md"]


def test_thirty_two_combinations_are_asked_for_and_a_missing_one_of_them_is_told():
    labels = tuple(cells_of("main", ["a=D1", "b=x.b:0,1", "c=x.c:0,1", "d=x.d:0,1,2,3"]).values())
    values = [(100.0 + n, 101.0 + n) for n in range(len(labels))]
    values[17] = ()
    answer = factors(series(values, kernels=(0,) * 16 + (1,) * 16), labels, confidence=95.0)
    assert answer is not None
    assert (len(labels), answer.missing) == (32, ("a=with, b=0, c=0, d=1",))
    assert [(one.factor, one.level) for one in answer.main] == [("d", "2"), ("d", "3")]
