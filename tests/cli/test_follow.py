"""Waiting for a search across a farm's restarts, with a clock that does not wait."""

from collections.abc import Iterable
from io import StringIO
from typing import Any

import pytest

from buildbot_bench.api.answers import SearchShown, SearchState
from buildbot_bench.cli.client import SEARCH, FarmUnreachableError, JobKind
from buildbot_bench.cli.console import LineView
from buildbot_bench.cli.farm_jobs import LONGEST_PAUSE_S, Pace, follow
from buildbot_bench.cli.farm_run import Look
from buildbot_bench.cli.live import SearchLines
from buildbot_bench.core.errors import InfraError, UsageError
from tests.fakes.rehearsal import REPORT, STORY, TEXT, FakeSearch

GONE = FarmUnreachableError("no farm answers at http://farm: Connection refused", hint="start it")


class Rehearsal:
    """A farm that is away at some of the looks, counted from 0."""

    def __init__(self, away: Iterable[int]) -> None:
        self._away = set(away)
        self._looks = 0
        self._search = FakeSearch(
            search_id=7,
            question={"old": "r311848", "new": "r313448"},
            story=STORY,
            outcome="found",
            text=TEXT,
            report=REPORT,
            hold_after=None,
        )

    def one(self, kind: JobKind, search_id: int) -> dict[str, Any]:
        self._looks += 1
        if self._looks - 1 in self._away:
            raise GONE
        self._search.get_on()
        return self._search.as_json()

    def rows(self, place: str) -> list[dict[str, Any]]:
        return self._search.probes_as_json()


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses: list[float] = []

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s
        self.pauses.append(duration_s)

    def pace(self, patience_s: float = 900.0) -> Pace:
        return Pace(patience_s=patience_s, sleep=self.sleep, monotonic=lambda: self.now_s)


def watch(farm: Rehearsal, screen: StringIO, pace: Pace) -> SearchShown:
    """The search 7 as it ended, shown as lines meanwhile."""
    view = LineView(screen, SearchLines())
    look = Look(farm, 7, view)  # type: ignore[arg-type]
    return follow(look, view, pace, hint=SEARCH.goes_on(7)).search


def test_restart_of_the_farm_is_said_once_and_survived() -> None:
    screen, clock = StringIO(), Clock()
    search = watch(Rehearsal(away=range(2, 8)), screen, clock.pace())
    assert search.state is SearchState.FOUND
    lines = screen.getvalue().splitlines()
    assert [line for line in lines if "farm" in line] == [
        "no farm answers at http://farm: Connection refused; trying again for 15 min",
        "the farm answers again",
    ]
    assert sum("probe" in line for line in lines) == len(STORY)


def test_pauses_grow_up_to_a_limit() -> None:
    clock = Clock()
    watch(Rehearsal(away=range(1, 10)), StringIO(), clock.pace())
    away = clock.pauses[1:10]
    assert away == [1, 2, 4, 8, 16, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S, 30]


def test_second_outage_has_the_whole_patience_again() -> None:
    clock = Clock()
    away = [*range(1, 5), *range(6, 10)]
    search = watch(Rehearsal(away), StringIO(), clock.pace(patience_s=16))
    assert search.ended


def test_patience_ends_with_the_way_to_come_back() -> None:
    clock = Clock()
    with pytest.raises(InfraError, match="bench-bisect --follow 7") as end:
        watch(Rehearsal(range(1, 10_000)), StringIO(), clock.pace(patience_s=600))
    assert "Connection refused" in end.value.message
    assert clock.now_s == pytest.approx(601)


def test_farm_that_never_answered_is_not_waited_for() -> None:
    clock = Clock()
    with pytest.raises(FarmUnreachableError):
        watch(Rehearsal(away=[0]), StringIO(), clock.pace())
    assert clock.pauses == []


def test_search_that_is_being_cancelled_is_waited_for() -> None:
    class Reluctant(Rehearsal):
        states = iter(("running", "cancelling", "cancelling", "cancelled"))

        def one(self, kind: JobKind, search_id: int) -> dict[str, Any]:
            return {**super().one(kind, search_id), "state": next(self.states)}

    search = watch(Reluctant(away=[]), StringIO(), Clock().pace())
    assert search.state is SearchState.CANCELLED


def test_who_comes_late_reads_all_probes_in_order_and_the_suspects_of_now() -> None:
    class Disordered(Rehearsal):
        def rows(self, place: str) -> list[dict[str, Any]]:
            return super().rows(place)[::-1]

    screen, farm = StringIO(), Disordered(away=[])
    for _ in range(3):
        farm.one(SEARCH, 7)
    watch(farm, screen, Clock().pace())
    probes = [line for line in screen.getvalue().splitlines() if "probe" in line]
    assert [line.split()[2] for line in probes] == ["1", "2", "3", "4", "5", "6"]
    assert ["suspects" in line for line in probes] == [False, False, False, True, True, True]


def test_refusal_ends_the_waiting() -> None:
    class Forgetful(Rehearsal):
        def rows(self, place: str) -> list[dict[str, Any]]:
            raise UsageError("the farm has no such search")

    with pytest.raises(UsageError):
        watch(Forgetful(away=[]), StringIO(), Clock().pace())
