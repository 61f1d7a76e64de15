"""How far images of one revision lie apart: as history says, unless they plainly say otherwise."""

import math

import pytest

from buildbot_bench.core.model.noise import Noise, spread_of_images
from buildbot_bench.core.sample import Iteration, Sample

NOISE = Noise(sigma_run=0.004, sigma_build=0.003, df_run=100.0, df_build=50.0)


def image(position: int, number: int, *values: float) -> Sample:
    boots = tuple(Iteration(value=1e6 * value, at_s=0.0) for value in values)
    return Sample(label=f"r{position}", position=position, image=number, iterations=boots)


def test_without_further_images_history_is_believed():
    samples = [image(1, 0, 1.0), image(2, 0, 0.9)]  # that is a change of the code, perhaps
    assert spread_of_images(samples, NOISE) == NOISE.sigma_build
    assert spread_of_images([], NOISE) == NOISE.sigma_build


def test_images_of_one_revision_that_differ_as_usual_change_nothing():
    samples = [image(1, 0, 1.0, 1.003), image(1, 1, 0.997, 0.999)]
    assert spread_of_images(samples, NOISE) == NOISE.sigma_build


def test_what_boots_alone_explain_is_no_layout():
    noisy = Noise(sigma_run=0.03, sigma_build=0.001, df_run=100.0, df_build=50.0)
    samples = [image(1, 0, 1.0), image(1, 1, 0.97)]
    assert spread_of_images(samples, noisy) == noisy.sigma_build


def test_an_unlucky_layout_widens_what_images_may_differ_by():
    samples = [image(1, 0, 0.97, 0.97, 0.97), image(1, 1, 1.0, 1.0, 1.0), image(2, 0, 1.0)]
    expected = abs(math.log(0.97)) / math.sqrt(2)
    assert spread_of_images(samples, NOISE) == pytest.approx(expected)


def test_values_that_are_no_measurement_are_passed_over():
    samples = [image(1, 0, 1.0), image(1, 1, 0.0), image(1, 2)]
    assert spread_of_images(samples, NOISE) == NOISE.sigma_build


def test_relinked_kernels_that_agree_do_not_dilute_one_that_is_far_off():
    far = [image(1, 0, 0.97, 0.97, 0.97), image(1, 1, 1.0, 1.0, 1.0)]
    agree = [image(p, n, 1.0, 1.001, 0.999) for p in range(2, 12) for n in range(3)]
    assert spread_of_images([*far, *agree], NOISE) == spread_of_images(far, NOISE)
    assert spread_of_images(far, NOISE) > NOISE.sigma_build
