"""How forecasts are held against what searches took."""

import json

import pytest

from benchmarks.verdicts import Verdict
from benchmarks.worlds import forecasts
from benchmarks.worlds.forecasts import MIXED, NAMES, Told


def told(took: int, *, median: float = 10.0, most: float = 15.0, seconds: float = 1.0) -> Told:
    return Told(
        row="",
        known=0,
        boots=(median, most),
        builds=(8.0, 9.0),
        took_boots=took,
        took_builds=8,
        took_s=seconds,
    )


def test_the_cases_are_rows_that_there_are():
    assert len(MIXED) == len(NAMES) + 1


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        ([told(10)] * 20, [Verdict.REACHED] * 3),
        ([told(13)] * 20, [Verdict.MISSED, Verdict.REACHED, Verdict.REACHED]),
        ([told(7)] * 20, [Verdict.MISSED, Verdict.REACHED, Verdict.REACHED]),
        ([told(10)] * 12 + [told(16)] * 8, [Verdict.REACHED, Verdict.MISSED, Verdict.REACHED]),
        ([told(10, seconds=2.5)] * 20, [Verdict.REACHED, Verdict.REACHED, Verdict.MISSED]),
    ],
)
def test_a_forecast_is_to_be_near_to_hold_and_to_be_quick(done, verdict):
    assert list(forecasts.verdicts(done).values()) == verdict


def test_a_search_under_way_is_held_against_what_is_left():
    late = forecasts.told_and_taken(len(MIXED) + 1, 5)
    early = forecasts.told_and_taken(1, 5)
    assert early.row == late.row
    assert (early.known, late.known) == (0, forecasts.UNDER_WAY)
    assert late.took_boots == early.took_boots - forecasts.UNDER_WAY
    assert late.boots[0] < early.boots[0]


def test_they_are_printed_and_written(tmp_path, capsys):
    assert forecasts.main(["--replicates=1", "--jobs=1", f"--out={tmp_path}"]) == 0
    assert "of the median" in capsys.readouterr().out
    (one,) = json.loads((tmp_path / "forecasts.json").read_text())
    assert one["took_boots"] > 0
