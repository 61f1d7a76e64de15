"""What is learnt of a testbed's noise, and what is assumed."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.model.learn import auto_iterations, learn
from buildbot_bench.core.model.noise import ARCHIVE, spread_of_boots
from buildbot_bench.core.sample import Iteration, Metric, NoiseClass, Sample

INSTRUCTIONS = Metric(name="cost", unit="instructions/packet", noise=NoiseClass.EXACT)


def sample(position: int, *values: float, metric: Metric | None = None) -> Sample:
    iterations = tuple(Iteration(value=float(value)) for value in values)
    if metric is None:
        return Sample(label=f"n{position}", position=position, iterations=iterations)
    return Sample(label=f"n{position}", position=position, iterations=iterations, metric=metric)


def simulated(
    *, run: float, build: float, images: int = 60, boots: int = 5, seed: int = 1
) -> list[Sample]:
    rng = np.random.default_rng(seed)
    layout = rng.normal(size=images) * build
    logs = layout[:, None] + rng.normal(size=(images, boots)) * run
    return [sample(position, *(1e6 * np.exp(row))) for position, row in enumerate(logs)]


def year(data: Path, *, dut: str, workload: str, label: str) -> list[Sample]:
    text = gzip.decompress((data / "series" / "series.jsonl.gz").read_bytes())
    rows = [json.loads(line) for line in text.splitlines()]
    row = next(r for r in rows if (r["dut"], r["workload"], r["label"]) == (dut, workload, label))
    return [sample(int(point["revision"][1:]), *point["pps"]) for point in row["points"]]


def test_apu2_ipfw_differs_little_between_boots_and_much_between_builds(data: Path) -> None:
    noise = learn(
        year(data, dut="AMD_GX-412TC_4Cores", workload="ipfw-statefull", label="fbsd.2016")
    )
    assert noise.sigma_run == pytest.approx(0.007, abs=0.0005)
    assert noise.sigma_build == pytest.approx(0.045, abs=0.003)
    assert noise.assumed == ()
    assert noise.modes_apart is None
    assert not noise.saturated


def test_real_changes_of_level_hardly_inflate_the_build_noise(data: Path) -> None:
    noise = learn(
        year(data, dut="Atom_C2558_4Cores", workload="pf-statefull", label="fbsd11-head.2015")
    )
    assert noise.sigma_build < 0.015  # neighbours differ by up to 25 % where the code changed


@pytest.mark.parametrize(("run", "build"), [(0.005, 0.02), (0.02, 0.02), (0.01, 0.005)])
def test_both_spreads_are_recovered(run: float, build: float) -> None:
    noise = learn(simulated(run=run, build=build, images=300))
    assert noise.sigma_run == pytest.approx(run, rel=0.1)
    assert noise.sigma_build == pytest.approx(build, rel=0.2)


def test_boots_that_went_wrong_do_not_count_as_noise() -> None:
    quiet = simulated(run=0.005, build=0.0)
    ill = [
        sample(s.position, *(v * (0.85 if n == 0 else 1) for n, v in enumerate(s.values)))
        if s.position % 7 == 0
        else s
        for s in quiet
    ]
    assert learn(ill).sigma_run < 1.4 * learn(quiet).sigma_run
    assert learn(ill).sigma_build < 0.004


def test_without_history_the_archive_is_assumed_and_said() -> None:
    noise = learn([])
    assert noise.sigma_run == ARCHIVE.sigma_run
    assert noise.sigma_build == ARCHIVE.sigma_build
    assert [text.partition(" vary")[0] for text in noise.assumed] == [
        "boots of one image",
        "images of unchanged code",
    ]


def test_the_prior_gives_way_to_history() -> None:
    spread = [learn(simulated(run=0.002, build=0.0, images=n)).sigma_build for n in (2, 10, 100)]
    assert ARCHIVE.sigma_build > spread[0] > spread[1] > spread[2]


def test_the_boot_that_raised_suspicion_is_left_out_where_it_was_repeated() -> None:
    suspicious = Sample(
        label="n1",
        position=1,
        iterations=tuple(
            Iteration(value=value, at_s=at_s)
            for value, at_s in ((0.9e6, 10.0), (1.0e6, 20.0), (1.001e6, 30.0))
        ),
    )
    honest = learn([sample(1, 1.0e6, 1.001e6)])
    assert learn([suspicious]).sigma_run == pytest.approx(honest.sigma_run)


def test_two_modes_drawn_at_boot_are_noticed() -> None:
    noise = learn([sample(1, 580, 581, 738, 773, 780), sample(2, 579, 580, 583, 771, 775)])
    assert noise.modes_apart == pytest.approx(0.32, abs=0.03)
    assert noise.sigma_run > 0.05


def test_a_lone_slow_boot_is_no_mode() -> None:
    history = [sample(n, 850.0, 1000.0, 1001.0, 999.0, 1000.5) for n in range(5)]
    assert learn(history).modes_apart is None


def test_ordinary_boots_have_one_mode() -> None:
    assert all(
        learn(simulated(run=0.005, build=0.01, images=20, seed=seed)).modes_apart is None
        for seed in range(20)
    )


def test_boots_that_disagree_count_with_their_own_spread() -> None:
    assert spread_of_boots([0.0, 0.004, -0.003, 0.005, -0.006], 0.005) == 0.005
    assert spread_of_boots([0.0, -0.09, -0.1, -0.001, 0.003, -0.11], 0.005) > 0.04


def test_a_small_build_noise_that_boots_would_hide_is_not_denied() -> None:
    noise = learn(simulated(run=0.02, build=0.0, boots=1, images=200))
    assert noise.sigma_build > 0.003


def test_singles_tell_the_run_noise_where_repeated_boots_are_few() -> None:
    history = simulated(run=0.003, build=0.0, boots=1, images=200)
    odd = sample(500, 1.00e6, 1.03e6, 0.99e6)
    assert learn([*history, odd]).sigma_run < 0.004


def test_line_rate_is_noticed() -> None:
    history = [sample(n, 1488095, 1488090, 1488101, 1488096, 1488095) for n in range(3)]
    assert learn(history).saturated


def test_counts_that_never_vary_leave_hardly_any_noise_and_are_no_line_rate() -> None:
    history = [sample(n, 812.0, 812.0, metric=INSTRUCTIONS) for n in range(3)]
    noise = learn(history)
    assert 0 < noise.sigma_run < 2e-5
    assert not noise.saturated
    assert auto_iterations(noise) == 1
    assert auto_iterations(learn(history[:1])) == 5


def test_kernels_get_one_boot_once_the_noise_is_learnt() -> None:
    assert auto_iterations(learn([])) == 5
    assert auto_iterations(learn([], prior=ARCHIVE), fresh=3) == 3
    assert auto_iterations(learn(simulated(run=0.005, build=0.01, images=12))) == 1


def test_boots_without_a_positive_value_are_passed_over() -> None:
    history = simulated(run=0.01, build=0.01)
    assert learn([*history, sample(10_000, 0.0, -1.0)]) == learn(history)


@settings(max_examples=30, deadline=None)
@given(scale=st.floats(1e-3, 1e9), seed=st.integers(0, 100))
def test_the_unit_does_not_matter(scale: float, seed: int) -> None:
    history = simulated(run=0.01, build=0.01, images=10, seed=seed)
    scaled = [sample(s.position, *(scale * v for v in s.values)) for s in history]
    noise, other = learn(history), learn(scaled)
    assert other.sigma_run == pytest.approx(noise.sigma_run, rel=1e-6)
    assert other.sigma_build == pytest.approx(noise.sigma_build, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(12)))
def test_the_order_of_the_samples_does_not_matter(order: list[int]) -> None:
    history = simulated(run=0.01, build=0.01, images=12)
    assert learn([history[n] for n in order]) == learn(history)
