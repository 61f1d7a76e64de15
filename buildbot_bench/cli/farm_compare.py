"""`bench-compare` with a farm: send one request, follow it and return its exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from buildbot_bench.api.comparisons import ComparisonBegun, ComparisonShown
from buildbot_bench.api.states import AbTestState
from buildbot_bench.cli.answers import (
    approval_text,
    comparison_csv,
    comparison_outcome,
    comparisons_text,
    progress_line,
    read_files,
)
from buildbot_bench.cli.client import COMPARISON, FarmClient, farm_at
from buildbot_bench.cli.console import LineView, say
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.farm_jobs import FarmJobs, Fields, JobWords, follow
from buildbot_bench.cli.requests import DecideComparison, ExtendComparison, StartComparison
from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import count
from buildbot_bench.core.json_model import given_json
from buildbot_bench.core.json_reader import UnreadableError, from_json
from buildbot_bench.core.legible import long_line

_WORDS = JobWords(kind=ComparisonShown, outcome=comparison_outcome, listed=comparisons_text)


def run(command: FarmCommand) -> int:
    """Ask the farm what the command line says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _Comparisons(command, farm).run()


class _Comparisons:
    """The comparisons of a farm."""

    def __init__(self, command: FarmCommand, farm: FarmClient) -> None:
        self._command, self._farm = command, farm
        self._jobs = FarmJobs(COMPARISON, _WORDS, command, farm)

    def run(self) -> int:
        """Send the request; returns the exit status."""
        match self._command.request:
            case StartComparison() as request:
                unsure = "whether the comparison began, `bench-compare --list` shows"
                return self._begin(request, COMPARISON.plural, "start", unsure)
            case ExtendComparison(comparison_id=number) as request:
                shows = f"`bench-compare --follow {number}` shows"
                unsure = f"whether comparison {number} goes on, {shows}"
                return self._begin(request, COMPARISON.at(number), "extend", unsure)
            case DecideComparison(comparison_id=number, decision=decision):
                self._farm.act(COMPARISON.at(number), decision, {})
                return self._jobs.answer(
                    f"comparison {number}: {decision}", {COMPARISON.key: number}
                )
            case request:
                return self._jobs.serve(request, self._follow)

    def _begin(
        self, request: StartComparison | ExtendComparison, place: str, action: str, unsure: str
    ) -> int:
        begun = self._jobs.begin(place, action, given_json(request.question), unsure=unsure)
        say(_announcement(begun))
        return self._jobs.go_on(begun, self._follow, wait=request.wait)

    def _follow(self, number: int) -> int:
        return self._jobs.follow(number, lambda: self._watch(number), self._text)

    def _watch(self, number: int) -> ComparisonShown:
        """Show the comparison until it ends; a farm that falls silent meanwhile is waited for."""
        view: LineView[ComparisonShown] = LineView(sys.stderr, _News())
        goes_on = COMPARISON.goes_on(number)
        return follow(lambda: self._jobs.one(number), view, self._jobs.pace, hint=goes_on)

    def _text(self, comparison: ComparisonShown) -> str | None:
        """The report in the form that was asked for; its directory is written first."""
        place = self._command.output
        if place is not None:
            number = comparison.comparisonid
            _write(place, read_files(self._farm.rows(f"{COMPARISON.at(number)}/files")))
        if self._command.form == "csv" and comparison.report is not None:
            return comparison_csv(comparison.report)
        return comparison.markdown if self._command.form == "markdown" else comparison.text


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
