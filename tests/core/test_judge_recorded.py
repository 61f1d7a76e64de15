"""The judge on recorded series: real years, as benchmarks.judge has them, and young ones."""

import random

import pytest

from benchmarks.judge_replay import found, neighbours, read_series, replay, student
from buildbot_bench.core.judge.model import Alarm, JudgePolicy
from buildbot_bench.core.judge.recorded import Recorded, RecordedPoint, judge_recorded
from buildbot_bench.core.metric import Metric


def test_recorded_years_give_twelve_of_fourteen_changes_and_at_most_twenty_alarms() -> None:
    years = read_series()
    calls = [replay(year, JudgePolicy()) for year in years]
    assert sum(len(year.builds) - 1 for year in years) == 371
    assert sum(len(year.changes) for year in years) == 14
    pairs = list(zip(years, calls, strict=True))
    assert sum(found(*pair, near=0) for pair in pairs) >= 12
    assert sum(found(*pair) for pair in pairs) >= 13
    assert sum(map(len, calls)) <= 20


def test_students_t_alone_gives_the_published_figures() -> None:
    years = read_series()
    calls = [neighbours(year, student) for year in years]
    assert sum(map(len, calls)) == 188
    pairs = list(zip(years, calls, strict=True))
    assert sum(found(*pair, near=0) for pair in pairs) == 13


@pytest.mark.parametrize("seed", range(6))
def test_a_change_after_seven_revisions_is_told_ten_later(seed: int) -> None:
    draw = random.Random(seed)
    values = [draw.lognormvariate(0.06 * (place >= 7), 0.003) for place in range(40)]
    points = tuple(RecordedPoint(label=str(n), values=(v,)) for n, v in enumerate(values))
    series = Recorded(name="x", metric=Metric(name="t", unit="s"), points=points)
    judged = [one for _, one in judge_recorded([series], JudgePolicy())]
    (told,) = [one for one in judged if isinstance(one.verdict, Alarm)]
    assert told.verdict.began == 7
    assert told.last <= 17
