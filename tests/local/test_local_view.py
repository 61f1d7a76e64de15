"""What a person sees of what is left: it counts down from what is known when the search goes on."""

import re
from itertools import count

import pytest

from buildbot_bench.api.answers import SearchShown
from buildbot_bench.cli.live import SearchSeen
from buildbot_bench.cli.local_view import LocalView
from buildbot_bench.cli.wording import remaining_text
from buildbot_bench.local.bisecting import Bisection, SearchCourse
from tests.fakes.local_bench import ReadMeasurer, SilentWatcher

# A noisy command: the search goes on well beyond the runs after which it is interrupted.
NOISE = 0.03
RUNS_BEFORE = 6


class CutShortError(Exception):
    pass


class UntilThen(SilentWatcher):
    """Interrupts the search once so many runs are known."""

    def show(self, course: SearchCourse) -> None:
        super().show(course)
        if len(course.known.iterations) >= RUNS_BEFORE:
            raise CutShortError


class Shown:
    """A display that keeps what it is to show."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.searches: list[SearchShown] = []

    def show(self, seen: SearchSeen) -> None:
        self.searches.append(seen.search)

    def notice(self, message: str) -> None:
        self.notices.append(message)


def test_what_is_left_counts_down_also_of_a_search_that_goes_on(ask, bench_for):
    search = ask()
    with pytest.raises(CutShortError):
        Bisection(search, bench_for(search, ReadMeasurer(noise=NOISE)), UntilThen()).run()
    slow = count(step=20).__next__
    display = Shown()
    view = LocalView(display)
    Bisection(search, bench_for(search, ReadMeasurer(noise=NOISE), now=slow), view).run()
    assert f"{RUNS_BEFORE} runs are known already and not repeated" in display.notices
    told = [remaining_text(one) for one in display.searches if one.forecast is not None]
    assert told[0].startswith(f"{RUNS_BEFORE} runs and ")
    (left,) = re.findall(r"about (\d+) runs and \d+ \S+ to go", told[0])
    table = next(notice for notice in display.notices if "forecast" in notice)
    assert re.search(rf"^runs +{left} ", table, re.MULTILINE)
    later = next(one for one in told if one.startswith(f"{RUNS_BEFORE + 1} "))
    assert f"about {int(left) - 1} runs" in later
