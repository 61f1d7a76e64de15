"""The noise band: around each level that is settled, and nowhere else."""

import pytest

from buildbot_bench.core.model.noise import Noise
from buildbot_bench.plugin.db.series import PointRow
from buildbot_bench.plugin.queries.history import bands

pytestmark = pytest.mark.both_databases

NOISE = Noise(sigma_run=0.02, sigma_build=0.03, df_run=50, df_build=50)


def points(*means: float, first: int = 1, epoch: str = "1", count: int = 1) -> list[PointRow]:
    return [
        PointRow(
            position=position,
            label=f"r{position}",
            epoch=epoch,
            unit="pps",
            boots=count,
            mean=mean,
            low=mean,
            high=mean,
            last_at_s=float(position),
            sha=f"{position:040x}",
        )
        for position, mean in enumerate(means, first)
    ]


def test_a_band_is_two_standard_deviations_around_the_median():
    (band,) = bands(points(100, 101, 99, 100, 100, count=4), [], NOISE)
    assert (band.first, band.last, band.level) == (1, 5, 100)
    spread = 2 * (0.03**2 + 0.02**2 / 4) ** 0.5
    assert (band.low, band.high) == pytest.approx((100 * (1 - spread), 100 * (1 + spread)))


def test_a_change_begins_a_band_of_its_own_at_its_commit():
    found = bands(points(*[100] * 5, *[80] * 5), [6], NOISE)
    assert [(b.first, b.last, b.level) for b in found] == [(1, 5, 100), (6, 10, 80)]


def test_a_change_between_two_measured_commits_counts():
    found = bands(points(*[100] * 5) + points(*[80] * 5, first=20), [12], NOISE)
    assert [(b.first, b.last) for b in found] == [(1, 5), (20, 24)]


def test_samples_of_two_epochs_share_no_band():
    found = bands(points(*[100] * 5) + points(*[120] * 5, first=6, epoch="2"), [], NOISE)
    assert [b.level for b in found] == [100, 120]


def test_changes_before_and_after_all_that_was_measured_change_nothing():
    assert len(bands(points(*[100] * 5, first=10), [3, 7, 99], NOISE)) == 1


def test_a_few_points_have_no_level_yet():
    assert bands(points(100, 100, 100, 100), [], NOISE) == []


def test_no_band_pretends_calm_over_a_change_that_nobody_found_yet():
    assert bands(points(*[100] * 5, *[70] * 5), [], NOISE) == []


def test_nothing_has_no_band():
    assert bands([], [5], NOISE) == []
