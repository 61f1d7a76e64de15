"""`bench-bisect` with a farm: send one request, follow it and return its exit status."""

from __future__ import annotations

from urllib.parse import quote

from buildbot_bench.api.searches import ForecastAsked, ProbeShown, RangeAsked, SearchShown
from buildbot_bench.cli.answers import understood
from buildbot_bench.cli.client import SEARCH, FarmClient, farm_at
from buildbot_bench.cli.console import View, Waiting, say
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.farm_jobs import FarmJobs, JobWords, follow, when_ready
from buildbot_bench.cli.live import SearchSeen, search_view
from buildbot_bench.cli.requests import MarkSearch, ReleaseTestbed, StartSearch
from buildbot_bench.cli.wording import (
    cost_text,
    forecast_text,
    mark_text,
    outcome_text,
    question_text,
    release_text,
    searches_text,
)
from buildbot_bench.core.json_model import given_json

_WORDS = JobWords(kind=SearchShown, outcome=outcome_text, listed=searches_text)


def run(command: FarmCommand) -> int:
    """Ask the farm what the command line says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _Searches(command, farm).run(command)


class _Searches:
    """The searches of a farm."""

    def __init__(self, command: FarmCommand, farm: FarmClient) -> None:
        self._farm = farm
        self._jobs = FarmJobs(SEARCH, _WORDS, command, farm)

    def run(self, command: FarmCommand) -> int:
        """Send the request; returns the exit status."""
        match command.request:
            case StartSearch() as request:
                return self._start(request)
            case MarkSearch() as mark:
                kept = self._farm.act(SEARCH.at(mark.search_id), "mark", given_json(mark.said))
                return self._jobs.answer(mark_text(mark), kept)
            case ReleaseTestbed() as release:
                said = {"false_alarm": release.false_alarm}
                self._farm.act(f"testbeds/{quote(release.testbed, safe='')}", "release", said)
                return self._jobs.answer(release_text(release), {"testbed": release.testbed} | said)
            case request:
                return self._jobs.serve(request, self._follow)

    def _start(self, request: StartSearch) -> int:
        question = given_json(request.question)
        hint = "nothing was started; ask again when it is back"
        action = "forecast" if request.dry_run else "check"
        try:
            with Waiting() as waiting:
                raw = when_ready(
                    lambda: self._farm.act(SEARCH.plural, action, question),
                    waiting,
                    self._jobs.pace,
                    hint=hint,
                )
        except KeyboardInterrupt:
            say("interrupted; nothing was started")
            raise
        if request.dry_run:
            return self._jobs.answer(forecast_text(understood(ForecastAsked, raw, "forecast")), raw)
        say(f"{question_text(understood(RangeAsked, raw, 'search'))}\nforecast follows")
        unsure = "whether the search began, `bench-bisect --list` shows"
        begun = self._jobs.begin(SEARCH.plural, "start", question, unsure=unsure)
        told = {SEARCH.key: begun[SEARCH.key], "forecast": None} | raw
        return self._jobs.go_on(
            told, lambda number: self._follow(number, cost=True), wait=request.wait
        )

    def _follow(self, number: int, *, cost: bool = False) -> int:
        return self._jobs.follow(
            number, lambda: self._watch(number, cost=cost), lambda search: search.text
        )

    def _watch(self, number: int, *, cost: bool) -> SearchShown:
        """Show a search until it ends, with `cost` also its forecast."""
        with search_view() as view:
            look = Look(self._farm, number, view, cost=cost)
            return follow(look, view, self._jobs.pace, hint=SEARCH.goes_on(number)).search


class Look:
    """A look at a search, which tells its forecast, once, if that is wanted."""

    def __init__(
        self, farm: FarmClient, number: int, view: View[SearchSeen], *, cost: bool = False
    ) -> None:
        self._farm, self._number, self._view, self._cost = farm, number, view, cost

    def __call__(self) -> SearchSeen:
        """Return the search and its probes as they stand."""
        # In this order: the probes of a search that has ended do not change any more.
        search = understood(SearchShown, self._farm.one(SEARCH, self._number), "search")
        rows = self._farm.rows(f"{SEARCH.at(self._number)}/probes")
        probes = [understood(ProbeShown, row, "probe") for row in rows]
        if self._cost and search.forecast is not None:
            self._view.notice(cost_text(search.forecast))
            self._cost = False
        return SearchSeen(search=search, probes=probes)
