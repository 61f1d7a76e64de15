"""The one rule of denial: which images of a side show a step, and which deny it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.contrast.denial import ImageVotes, image_votes
from buildbot_bench.core.incident.confirmation import Confirmation, Standing, confirmation
from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy

LEVELS = st.lists(st.integers(-90, 90).map(lambda tenths: tenths / 1000), min_size=1, max_size=6)
ERRORS = st.floats(0.0005, 0.02)
SLOWER, FASTER = -0.04, 0.0


def votes(*levels: float, error: float = 0.002, level: float = SLOWER) -> ImageVotes:
    other = FASTER if level == SLOWER else SLOWER
    return image_votes([(one, error) for one in levels], level=level, other=other)


def test_an_image_beyond_the_middle_denies_and_one_on_its_own_side_shows():
    assert votes(SLOWER, FASTER) == ImageVotes(shown=1, denied=1)
    assert votes(SLOWER, FASTER, level=FASTER) == ImageVotes(shown=1, denied=1)


def test_an_image_beyond_the_middle_by_chance_says_nothing():
    assert votes(-0.017) == ImageVotes(shown=0, denied=0)
    assert votes(-0.015) == ImageVotes(shown=0, denied=1)


@pytest.mark.parametrize(
    ("levels", "contradicted", "stands"),
    [
        ((SLOWER,), False, False),
        ((SLOWER, SLOWER), False, True),
        ((SLOWER, FASTER), True, False),
        ((SLOWER, SLOWER, FASTER), False, True),
        ((SLOWER, FASTER, FASTER), True, False),
    ],
)
def test_a_second_image_that_contradicts_makes_a_third_decide(levels, contradicted, stands):
    found = votes(*levels)
    assert (found.contradicted, found.stands) == (contradicted, stands)


@given(levels=LEVELS, error=ERRORS)
def test_mirrored_levels_give_the_same_votes(levels: list[float], error: float) -> None:
    images = [(one, error) for one in levels]
    mirrored = [(-one, error) for one in levels]
    there = image_votes(images, level=-0.04, other=0.0)
    assert there == image_votes(mirrored, level=0.04, other=0.0)


@given(levels=LEVELS, error=ERRORS, base=st.floats(-0.05, 0.05), new=st.floats(-0.05, 0.05))
def test_a_side_is_contradicted_where_as_many_images_deny_as_show(
    levels: list[float], error: float, base: float, new: float
) -> None:
    """The rule, written out."""
    middle, sign = (base + new) / 2, np.copysign(1.0, (base + new) / 2 - new)
    beyond = [sign * (one - middle) for one in levels]
    denied = sum(away > 2.0 * error for away in beyond)
    shown = sum(away <= 0 for away in beyond)
    votes_of = image_votes([(one, error) for one in levels], level=new, other=base)
    assert votes_of.contradicted == bool(denied and denied >= shown)


@given(
    seed=st.integers(0, 2**32 - 1),
    effect=st.floats(0.03, 0.08),
    showing=st.integers(1, 2),
    further=st.integers(0, 3),
    boots=st.lists(st.integers(1, 6), min_size=14, max_size=14),
    of_old=st.booleans(),
    others=st.integers(1, 4),
    images=st.booleans(),
    told=st.sampled_from((None, 0.0, 0.002)),
)
def test_nothing_is_confirmed_that_as_many_images_deny_as_show(
    *,
    seed: int,
    effect: float,
    showing: int,
    further: int,
    boots: list[int],
    of_old: bool,
    others: int,
    images: bool,
    told: float | None,
) -> None:
    """Any evidence, as it may be at hand before a boot is asked for: `others` of the calm side."""
    rng, count = np.random.default_rng(seed), iter(boots)
    denying = showing + further
    here, there = (0, 1) if of_old else (1, 0)
    shows = -effect if here else effect
    levels = [
        (here, image, shows if image < showing else 0.0) for image in range(showing + denying)
    ]
    levels += [(there, image, 0.0) for image in range(others)]
    measured = tuple(
        Measurement(position=at, image=image, value=float(np.exp(level + noise)))
        for at, image, level in levels
        for noise in rng.normal(0, 0.002, next(count))
    )
    policy = SearchPolicy(claimed=-effect, sigma_run=0.002, sigma_build=told, images=images)
    found = confirmation(0, 1, Evidence(measurements=measured), policy)
    assert not (isinstance(found, Confirmation) and found.standing is Standing.CONFIRMED)
