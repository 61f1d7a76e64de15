"""Runs recorded on a busy machine: what `user` hides, searches by `cpu` find."""

from statistics import fmean, stdev

import pytest

from benchmarks.recorded.command import searched
from benchmarks.recorded.record import RECORDING, read
from benchmarks.rounded import searched as searched_rounded


def test_the_recording_is_long_small_and_says_how_it_was_made():
    recording = read()
    assert len(recording.runs) >= 2000
    assert RECORDING.stat().st_size <= 100_000
    assert {"program", "date", "machine", "system", "tick_s"} <= set(recording.about)

    def spread(clock):
        values = [getattr(run, clock) for run in recording.runs]
        return stdev(values) / fmean(values)

    assert spread("cpu_s") < spread("user_s")
    assert spread("cpu_s") < spread("wall_s")


@pytest.mark.parametrize("number", [8, 7])
def test_a_search_by_processor_time_ends_and_is_right(number):
    found = searched("cpu", number, of=80)
    assert found.ended
    assert not found.wrong
    assert found.runs < 60


@pytest.mark.parametrize("number", range(4))
def test_a_coarse_clock_names_no_culprit_that_is_none(number):
    found = searched_rounded(0.015, 0.2, number, seed=2, patience=100)
    assert found.ended
    assert not found.wrong
