"""The judge on the recorded years, as benchmarks.judge has it."""

from benchmarks.judge_replay import found, neighbours, read_series, replay, student
from buildbot_bench.core.judge.model import JudgePolicy


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
