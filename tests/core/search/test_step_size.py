"""The size of a step is not what kernels far from it make of it, where the level creeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy
from buildbot_bench.core.search.inference import AveragedPosterior, infer
from buildbot_bench.core.search.noise_model import read
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.search.slopes import own_levels, step_size

N, STEP, NOISE = 256, -0.05, 0.005
PLACES = (0, 0, 0, 64, 96, 112, 120, 124, 126, 127, 127, 127, 128, 128, 128, 130, 160, 192) + 3 * (
    N,
)
POLICY = SearchPolicy(sigma_run=NOISE, sigma_build=0.0)


def posterior(seed: int, creep: float, factor: float = 1.0) -> AveragedPosterior:
    """A search whose level falls by `creep` over the range, and by STEP at commit 128."""
    rng = np.random.default_rng(seed)
    rows = tuple(
        Measurement(
            position=at,
            value=factor
            * float(np.exp(creep * at / N + STEP * (at >= 128) + rng.normal(0, NOISE))),
            at_s=300.0 * k,
        )
        for k, at in enumerate(PLACES)
    )
    search_range = build_range(N, Evidence(measurements=rows), POLICY)
    return infer(search_range, read(search_range, rows), POLICY)


def sized(seen: AveragedPosterior) -> tuple[float, float]:
    gap = int(np.searchsorted(seen.readings.kernels, 128)) - 1
    return step_size(seen, own_levels(seen), gap, N, POLICY)


def holding(creep: float, *, of_posterior: bool) -> int:
    found = 0
    for seed in range(20):
        seen = posterior(seed, creep)
        gap = int(np.searchsorted(seen.readings.kernels, 128)) - 1
        size, sd = sized(seen)
        if of_posterior:
            size, sd = float(seen.change[gap]), float(seen.change_sd[gap])
        found += abs(size - (STEP + creep / N)) <= 1.96 * sd
    return found


def test_beside_a_creep_the_interval_holds_the_truth_more_often():
    assert holding(-0.03, of_posterior=True) <= 15
    assert holding(-0.03, of_posterior=False) >= 18


def test_without_a_creep_the_interval_is_little_wider():
    seen = [posterior(seed, 0.0) for seed in range(8)]
    plain = np.mean([float(one.change_sd[list(one.readings.kernels).index(127)]) for one in seen])
    now = np.mean([sized(one)[1] for one in seen])
    assert plain < now < 1.35 * plain


def test_a_side_of_one_kernel_shows_no_creep():
    rows = tuple(
        Measurement(position=at, value=float(np.exp(y)), at_s=300.0 * k)
        for k, (at, y) in enumerate(
            [(0, 0.0), (0, 0.004), (0, 0.001), (1, -0.05), (1, -0.052), (1, -0.049)]
        )
    )
    search_range = build_range(1, Evidence(measurements=rows), POLICY)
    seen = infer(search_range, read(search_range, rows), POLICY)
    told = (float(seen.change[0]), float(seen.change_sd[0]))
    assert step_size(seen, own_levels(seen), 0, 1, POLICY) == told


@given(seed=st.integers(0, 5), factor=st.sampled_from([1e-3, 1.0, 1e6]))
def test_the_unit_of_the_metric_does_not_matter(seed, factor):
    assert sized(posterior(seed, -0.02, factor)) == pytest.approx(
        sized(posterior(seed, -0.02)), rel=1e-6
    )


def test_where_no_image_of_a_kernel_is_believed_the_posterior_stands():
    seen = posterior(1, creep=0.0)
    gap = int(np.searchsorted(seen.readings.kernels, 128)) - 1
    means, variances = own_levels(seen)
    for unknown in (slice(None), slice(gap, gap + 1)):
        nothing = np.array(variances)
        nothing[unknown] = 1e12
        size, sd = step_size(seen, (means, nothing), gap, N, POLICY)
        assert (size, sd) == (seen.change[gap], seen.change_sd[gap])


def in_spells(seed: int) -> AveragedPosterior:
    """300 runs of eight kernels on a machine that is slow in spells; STEP at commit 128."""
    rng = np.random.default_rng(seed)
    places = rng.choice([0, 64, 112, 126, 127, 128, 160, N], 300)
    places[:2] = 0, N
    spell, rows = 0.0, []
    for k, at in enumerate(places.tolist()):
        spell = 0.97 * spell + 0.24 * rng.normal()
        level = STEP * (at >= 128) + 0.1 * spell + rng.normal(0, 0.02)
        rows.append(Measurement(position=at, value=float(np.exp(level)), at_s=0.1 * k))
    search_range = build_range(N, Evidence(measurements=tuple(rows)), SHARED)
    return infer(search_range, read(search_range, tuple(rows)), SHARED)


SHARED = SearchPolicy(sigma_run=0.02, sigma_build=0.0, layout=False, images=False, spells=True)


def test_a_step_between_runs_in_spells_is_sized_by_what_the_spells_leave_of_it():
    for seed in range(6):
        seen = in_spells(seed)
        gap = int(np.searchsorted(seen.readings.kernels, 128)) - 1
        size, sd = step_size(seen, own_levels(seen), gap, N, SHARED)
        assert abs(size - STEP) < 2.6 * sd
        assert sd < 0.01
