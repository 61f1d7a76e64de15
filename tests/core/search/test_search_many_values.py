"""What is left out or computed by series where values are many, against the formulas."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.model import constants
from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy
from buildbot_bench.core.search.grid import Rows, level_grid, together
from buildbot_bench.core.search.likelihood import SharedTerms
from buildbot_bench.core.search.noise_average import NEGLIGIBLE, Climber
from buildbot_bench.core.search.noise_model import Readings, SearchNoise, ladders, read
from buildbot_bench.core.search.partition import StepPrior, clustering_of
from buildbot_bench.core.search.posterior import PriorModel
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.search.two_speeds import reach

POLICY = SearchPolicy(sigma_run=0.005, sigma_build=0.0)


def seen(rng: np.random.Generator, places: int, boots: int, noise: float, images: int) -> Readings:
    """Two or three levels, a few values that went wrong, so many boots of each place."""
    level = np.repeat(rng.choice([0.0, -0.3, 0.02, -0.05], 3), -(-places // 3))[:places]
    rows = tuple(
        Measurement(
            position=place,
            image=int(rng.integers(images)),
            value=float(np.exp(level[place] + noise * rng.standard_t(3))),
            at_s=300.0 * number,
        )
        for place in range(places)
        for number in range(boots)
    )
    return read(build_range(places - 1, Evidence(), POLICY), rows)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sd=st.sampled_from([1e-5, 0.003, 0.01, 0.05]),
    mode=st.sampled_from([0.0, 3.0, -8.0]),
    is_far=st.booleans(),
)
def test_many_values_have_the_densities_of_the_formula(seed, sd, mode, is_far):
    rng = np.random.default_rng(seed)
    readings = seen(rng, 9, 60, sd, 1)
    noise = SearchNoise(
        run=sd,
        build=0.0,
        mode_share=0.25 if mode else 0.0,
        mode_offset=mode * sd,
        far=0.03 if is_far else 0.0,
    )
    far = rng.uniform(0, 2, len(readings.values)) if is_far else None
    counts = np.bincount(readings.place_of_value)
    grid = level_grid(readings, noise)
    rows = Rows(
        values=readings.values,
        counts=counts,
        noises=[noise],
        sds=np.array([sd]),
        far=None if far is None else far[None],
    )
    away = readings.values[:, None] - grid.levels
    normal = sum(
        share * np.exp(-0.5 * ((away - offset) / sd) ** 2) / (np.sqrt(2 * np.pi) * sd)
        for share, offset in ((1 - noise.mode_share, 0), (noise.mode_share, noise.mode_offset))
    )
    density = (1 - constants.OUTLIER_SHARE) * normal
    density += constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
    if far is not None:
        density = (1 - noise.far) * density + far[:, None] * reach(away)
    expected = np.add.reduceat(np.log(density), np.cumsum(counts) - counts)
    assert rows.logs(together([grid]))[0] == pytest.approx(expected, abs=1e-7)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    places=st.sampled_from([6, 15, 40]),
    noise=st.sampled_from([0.003, 0.005, 0.009]),
    told=st.sampled_from([(0.005, 0.0), (0.005, 0.003), (None, None)]),
    images=st.sampled_from([1, 3]),
)
def test_no_hypothesis_that_is_not_negligible_is_left_out(seed, places, noise, told, images):
    readings = seen(np.random.default_rng(seed), places, max(3, 60 // places), noise, images)
    policy = replace(POLICY, sigma_run=told[0], sigma_build=told[1])
    edges = np.arange(places) / (places - 1)
    prior_model = PriorModel(
        prior=StepPrior(
            gap_prior=np.diff(edges),
            clustering=clustering_of(edges[:-1], edges[1:], places - 1),
            none=0.5,
        ),
        claimed=0.0,
        policy=policy,
        kept=SharedTerms(readings=readings),
    )
    rungs = ladders(policy, constants.FAR_SHARE)
    climber = Climber(prior_model=prior_model, readings=readings)
    kept = climber.climb([(ladder, None) for ladder in rungs])
    every = climber.all([one for ladder in rungs for one in ladder if one.noise.run > noise / 4])
    best = max(one.score for one in every)
    likely = {one.hypothesis for one in every if one.score > best - NEGLIGIBLE}
    assert likely <= {one.hypothesis for one in kept}
