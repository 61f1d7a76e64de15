"""`bench-compare` with a farm: send one request, follow it and return its exit status."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from buildbot_bench.api.answers import ComparisonBegun, ComparisonShown
from buildbot_bench.api.requests import ComparisonQuestion, Extension
from buildbot_bench.api.states import AbTestState
from buildbot_bench.cli.answers import (
    approval_text,
    comparison_csv,
    comparison_outcome,
    comparisons_text,
    progress_line,
    read_files,
)
from buildbot_bench.cli.client import COMPARISON, farm_at
from buildbot_bench.cli.console import LineView, say
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.farm_jobs import FarmJobs, Fields, follow
from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import count
from buildbot_bench.core.json_model import given_json
from buildbot_bench.core.json_reader import UnreadableError, from_json
from buildbot_bench.core.legible import long_line


def run(command: FarmCommand) -> int:
    """Ask the farm what the command line says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _Comparisons(command, farm).run()


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
