"""`bench-bisect` with a farm: send one request, follow it and return its exit status."""

from urllib.parse import quote

from buildbot_bench.api.answers import ForecastAsked, ProbeShown, RangeAsked, SearchShown
from buildbot_bench.api.requests import MarkAsked, ReleaseAsked, SearchQuestion
from buildbot_bench.cli.answers import understood
from buildbot_bench.cli.client import SEARCH, FarmClient, farm_at
from buildbot_bench.cli.console import View, Waiting, say
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.farm_jobs import FarmJobs, Fields, follow, when_ready
from buildbot_bench.cli.live import SearchSeen, search_view
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


def run(command: FarmCommand) -> int:
    """Ask the farm what the command line says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _Searches(command, farm).run()


class _Searches(FarmJobs[SearchShown]):
    kind, shown = SEARCH, SearchShown
    # Whether a search that is watched is to tell its forecast.
    _cost = False

    def run(self) -> int:
        number, testbed = self.command.number, self.command.testbed
        match self.command.said:
            case SearchQuestion() as question:
                return self._start(given_json(question))
            case MarkAsked() as mark:
                kept = self.farm.act(SEARCH.at(number), "mark", given_json(mark))
                return self.answer(mark_text(number, mark), kept)
            case ReleaseAsked(false_alarm=false_alarm):
                said = {"false_alarm": false_alarm}
                self.farm.act(f"testbeds/{quote(testbed, safe='')}", "release", said)
                told = release_text(testbed, false_alarm=false_alarm)
                return self.answer(told, {"testbed": testbed} | said)
        return super().run()

    def outcome(self, job: SearchShown) -> str:
        return outcome_text(job)

    def listed(self, jobs: list[SearchShown]) -> str:
        return searches_text(jobs)

    def _start(self, question: Fields) -> int:
        hint = "nothing was started; ask again when it is back"
        action = "forecast" if self.command.dry_run else "check"
        try:
            with Waiting() as waiting:
                raw = when_ready(
                    lambda: self.farm.act(SEARCH.plural, action, question),
                    waiting,
                    self.pace,
                    hint=hint,
                )
        except KeyboardInterrupt:
            say("interrupted; nothing was started")
            raise
        if self.command.dry_run:
            return self.answer(forecast_text(understood(ForecastAsked, raw, "forecast")), raw)
        say(f"{question_text(understood(RangeAsked, raw, 'search'))}\nforecast follows")
        unsure = "whether the search began, `bench-bisect --list` shows"
        begun = self.begin(SEARCH.plural, "start", question, unsure=unsure)
        self._cost = True
        return self.go_on({SEARCH.key: begun[SEARCH.key], "forecast": None} | raw)

    def watch(self, number: int) -> SearchShown:
        with search_view() as view:
            look = Look(self.farm, number, view, cost=self._cost)
            return follow(look, view, self.pace, hint=SEARCH.goes_on(number)).search


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
