"""What `make bench` runs: tables, figures as JSON, and the plots that are drawn from them."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import factors, judge, judge_layout, many_series, plots, search, suites
from benchmarks.freebsd_sized import make_freebsd_sized, svn_number
from benchmarks.search_grid import BUILD_NOISES, LENGTHS, STEPS_IN_NOISES
from benchmarks.search_lab import Lab
from benchmarks.search_peers import pinpoint_like
from benchmarks.search_runs import ALL_CASES
from benchmarks.verdicts import Verdict, of_mean, of_share
from buildbot_bench.core.errors import UsageError
from buildbot_bench.history import MirrorHistory
from tests.running import ran


def test_the_search_is_told_as_a_table_as_figures_and_as_plots(tmp_path, capsys):
    assert search.main(["--only=n 1, step/noise 5", "--replicates=4", f"--out={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    assert "ours" in printed
    assert "git N=5, t" in printed
    figures = json.loads((tmp_path / "search.json").read_text())
    ways = {row["policy"] for row in figures["rows"]}
    assert {"ours", "git N=10, t", "SPRT", "Pinpoint-like", "learner", "genie"} <= ways
    assert figures["calibration"][0]["steps"] >= 4
    plots.main([f"--out={tmp_path}"])
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert {"search-wrong.svg", "search-calibration.svg"} <= drawn


def test_the_recorded_years_are_drawn(tmp_path, capsys):
    assert judge.main(["--only=recorded", f"--out={tmp_path}"]) == 0
    assert "the judge" in capsys.readouterr().out
    plots.main([f"--out={tmp_path}"])
    assert b"Alarms on the recorded years" in (tmp_path / "judge-years.svg").read_bytes()


def test_intervals_of_factors_hold_the_truth_where_kernels_have_several_images():
    world = factors.WORLDS["2 x 2, three images each"]
    found = [one.holds for seed in range(100) for one in factors.held(world, seed)]
    assert found.count(True) / len(found) > 0.91


def test_series_that_fall_together_are_found_at_once_beside_calm_ones():
    assert many_series.delays(many_series.QUIET, 0.8, 30, 1) == [0] * many_series.CHANGED


def test_a_suite_compared_with_itself_runs_until_its_limit():
    found = suites.table("runs vary", 1)
    assert (found.worse, found.better, found.runs) == (0, 0, 40)


def test_the_plain_field_has_no_gaps():
    cells = {(case.world.n, case.d) for case in ALL_CASES.values() if not case.world.sigma_build}
    assert {(n, d) for n in LENGTHS for d in STEPS_IN_NOISES} <= cells
    assert {case.world.sigma_build for case in ALL_CASES.values()} >= set(BUILD_NOISES)


def test_pinpoint_measures_a_revision_once_and_not_again_for_each_neighbour():
    lab = Lab(ALL_CASES["n 16, step/noise 50"].world, 1)
    assert pinpoint_like(lab) == lab.expected()
    assert lab.iterations == 10 * len(lab.images)


@pytest.mark.parametrize(
    ("cases", "replicates", "most", "verdict"),
    [
        (0, 10, 0.003, Verdict.REACHED),
        (1, 100, 0.003, Verdict.OPEN),
        (9, 100, 0.003, Verdict.MISSED),
    ],
)
def test_one_wrong_answer_of_a_hundred_misses_no_target(cases, replicates, most, verdict):
    assert of_share(cases, replicates, most) is verdict


def test_a_mean_misses_a_target_only_beyond_its_error():
    assert of_mean(12.4, 0.1, 12.5) is Verdict.REACHED
    assert of_mean(12.6, 0.1, 12.5) is Verdict.OPEN
    assert of_mean(12.8, 0.1, 12.5) is Verdict.MISSED


def test_a_benchmark_that_does_not_exist_is_told_with_those_that_do():
    done = ran([sys.executable, "-m", "benchmarks", "serach"], cwd=Path(__file__).parents[2])
    assert done.returncode == 2
    expected = "there are search, worlds, forecasts, incident, breakages, judge, comparisons"
    assert expected in done.stderr


def test_the_history_that_is_measured_has_freebsds_shape(tmp_path):
    make_freebsd_sized(tmp_path / "src", 1500)
    history = MirrorHistory(tmp_path / "mirror", str(tmp_path / "src"))
    history.fetch()
    assert history.tip("main").position == 1500
    assert [history.resolve(f"n{n}").svn for n in (1, 5, 6, 1500)] == [
        *(svn_number(1), svn_number(5), svn_number(6), svn_number(1500)),
    ]
    assert history.tip("stable/11").svn == svn_number(750) + 1
    with pytest.raises(UsageError, match="r6 is no commit of main; the nearest are r5 and r7"):
        history.resolve("r6")


def test_images_far_off_by_luck_are_judged_with_a_verdict(monkeypatch):
    monkeypatch.setattr(judge_layout, "CALM_COMMITS", 60)
    (row, *_) = (judge_layout.calm(name, years=2, seed=5) for name in judge_layout.CASES)
    assert (row["commits"], row["verdict"]) == (120, "reached")
    assert row["boots_verdict"] == "MISSED"  # the first commits teach the noise, five boots each
    drop = judge_layout.drops("10 % of the images 4 % slow", replicates=4, seed=5)
    assert drop["replicates"] == 4
    assert drop["verdict"] in set(Verdict)


def test_the_judges_worlds_know_nothing_of_the_models_constants():
    for name in ("judge_farm", "judge_layout", "judge_years", "judge"):
        text = Path(judge.__file__).with_name(f"{name}.py").read_text()
        assert "constants" not in text
        assert "ARCHIVE" not in text
