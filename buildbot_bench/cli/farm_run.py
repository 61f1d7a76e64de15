"""`bench-bisect` and `bench-compare` with a farm: one request, followed to its exit status."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from buildbot_bench.api.answers import (
    AbTestState,
    ComparisonBegun,
    ComparisonShown,
    ForecastAsked,
    ProbeShown,
    RangeAsked,
    SearchShown,
)
from buildbot_bench.api.requests import (
    ComparisonQuestion,
    Extension,
    MarkAsked,
    ReleaseAsked,
    SearchQuestion,
)
from buildbot_bench.cli.client import COMPARISON, SEARCH, FarmClient, farm_at
from buildbot_bench.cli.console import LineView, View, Waiting, say
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.farm_jobs import (
    FarmJobs,
    Fields,
    approval_text,
    comparison_csv,
    comparison_outcome,
    comparisons_text,
    follow,
    progress_line,
    read_files,
    understood,
    when_ready,
)
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
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import count, hours_text
from buildbot_bench.core.json_model import UnreadableError, from_json, given_json
from buildbot_bench.core.legible import long_line


def run_search(command: FarmCommand) -> int:
    """Ask the farm what `bench-bisect` says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _Searches(command, farm).run()


def run_comparison(command: FarmCommand) -> int:
    """Ask the farm what `bench-compare` says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _Comparisons(command, farm).run()


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


class _Comparisons(FarmJobs[ComparisonShown]):
    kind, shown = COMPARISON, ComparisonShown

    def run(self) -> int:
        number = self.command.number
        match self.command.action, self.command.said:
            case "approve" | "reject" as decision, None:
                self.farm.act(COMPARISON.at(number), decision, {})
                return self.answer(f"comparison {number}: {decision}", {COMPARISON.key: number})
            case "extend", Extension() as asked:
                shows = f"`bench-compare --follow {number}` shows"
                unsure = f"whether comparison {number} goes on, {shows}"
                begun = self.begin(
                    COMPARISON.at(number), "extend", given_json(asked), unsure=unsure
                )
            case "start", ComparisonQuestion() as asked:
                unsure = "whether the comparison began, `bench-compare --list` shows"
                begun = self.begin(COMPARISON.plural, "start", given_json(asked), unsure=unsure)
            case _:
                return super().run()
        say(_announcement(begun))
        return self.go_on(begun)

    def outcome(self, job: ComparisonShown) -> str:
        return comparison_outcome(job)

    def listed(self, jobs: list[ComparisonShown]) -> str:
        return comparisons_text(jobs)

    def watch(self, number: int) -> ComparisonShown:
        """Show it until it ends; a farm that falls silent meanwhile is waited for."""
        view: LineView[ComparisonShown] = LineView(sys.stderr, _News())
        return follow(lambda: self.one(number), view, self.pace, hint=COMPARISON.goes_on(number))

    def text(self, job: ComparisonShown) -> str | None:
        """The report in the form that was asked for; its directory is written first."""
        place, form = self.command.output, self.command.form
        if place is not None:
            _write(place, read_files(self.farm.rows(f"{COMPARISON.at(job.comparisonid)}/files")))
        if form == "csv" and job.report is not None:
            return comparison_csv(job.report)
        return job.markdown if form == "markdown" else job.text


class _News:
    """What is new of a comparison that goes on: its patches to approve, boots, what is done now."""

    def __init__(self) -> None:
        self._shown = ""

    def __call__(self, comparison: ComparisonShown) -> Iterator[str]:
        """Give what changed since the last time."""
        seen = f"{comparison.boots_done} {comparison.now}"
        if comparison.ended or seen == self._shown:
            return
        self._shown = seen
        if comparison.state is AbTestState.AWAITING:
            number = comparison.comparisonid
            yield approval_text(comparison)
            yield f"decide by `bench-compare --approve {number}`, or --reject {number}"
        yield progress_line(comparison)


def _announcement(raw: Fields) -> str:
    """`comparison 3: r317849+VIMAGE against r317849, 30 boots, 53 min after all are built`."""
    try:
        begun = from_json(ComparisonBegun, raw)
    except UnreadableError:  # it has begun, whatever else is said of it
        return f"comparison {raw['comparisonid']}: {long_line(str(raw.get('title', '?')))}"
    iteration = begun.nouns.iteration
    boots, hours = count(begun.boots, iteration), hours_text(begun.hours)
    said = f"comparison {begun.comparisonid}: {begun.title}, {boots}, about {hours}"
    said += " after all are built"
    if (cost := begun.expected) is None:
        return said
    return (
        f"{said}; to find {100 * cost.effect:.3g} % takes about {cost.images} images of each, "
        f"{count(cost.boots, iteration)}, {hours_text(cost.hours)}"
    )


def _write(place: Path, files: Mapping[str, bytes]) -> None:
    try:
        for path, content in files.items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise InfraError(f"cannot write {place}: {error}", hint="try --follow again") from error
    say(f"{len(files)} files are in {place}")
