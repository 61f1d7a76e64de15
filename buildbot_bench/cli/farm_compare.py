"""`bench-compare` with a farm: send one request, follow it and return its exit status."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from buildbot_bench.cli.answers import iteration_of
from buildbot_bench.cli.client import COMPARISON, FarmClient, farm_at
from buildbot_bench.cli.comparison_answers import (
    RemoteComparison,
    RemoteComparisonState,
    approval_text,
    comparison_csv,
    comparison_outcome,
    comparisons_text,
    progress_line,
    read_comparison,
    read_files,
)
from buildbot_bench.cli.console import say
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.farm_jobs import FarmJobs, Fields, Words
from buildbot_bench.cli.follow import follow
from buildbot_bench.cli.progress import Lines
from buildbot_bench.cli.requests import DecideComparison, ExtendComparison, StartComparison
from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import count
from buildbot_bench.core.legible import long_line

_WORDS = Words(read=read_comparison, outcome=comparison_outcome, listed=comparisons_text)


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
                return self._begin(COMPARISON.plural, "start", _question(request), request, unsure)
            case ExtendComparison() as request:
                number = request.comparison_id
                unsure = (
                    f"whether comparison {number} goes on, `bench-compare --follow {number}` shows"
                )
                return self._begin(
                    COMPARISON.at(number), "extend", _extension(request), request, unsure
                )
            case DecideComparison(comparison_id=number, decision=decision):
                self._farm.act(COMPARISON.at(number), decision, {})
                return self._jobs.answer(
                    f"comparison {number}: {decision}", {COMPARISON.key: number}
                )
            case request:
                return self._jobs.serve(request, self._follow)

    def _begin(
        self,
        place: str,
        action: str,
        question: Fields,
        request: StartComparison | ExtendComparison,
        unsure: str,
    ) -> int:
        begun = self._jobs.begin(place, action, question, unsure=unsure)
        say(_announcement(begun))
        return self._jobs.go_on(begun, self._follow, wait=request.wait)

    def _follow(self, number: int) -> int:
        return self._jobs.follow(number, lambda: self._watch(number), self._text)

    def _watch(self, number: int) -> RemoteComparison:
        """Show the comparison until it ends; a farm that falls silent meanwhile is waited for."""
        view: Lines[RemoteComparison] = Lines(sys.stderr, _News())

        def look() -> RemoteComparison:
            return read_comparison(self._farm.one(COMPARISON, number))

        return follow(look, view, self._jobs.pace, hint=COMPARISON.goes_on(number))

    def _text(self, comparison: RemoteComparison) -> str | None:
        """The report in the form that was asked for; its directory is written first."""
        place = self._command.output
        if place is not None:
            number = comparison.comparison_id
            _write(place, read_files(self._farm.rows(f"{COMPARISON.at(number)}/files")))
        if self._command.form == "csv" and comparison.report is not None:
            return comparison_csv(comparison.report)
        return comparison.markdown if self._command.form == "markdown" else comparison.text


class _News:
    """What is new of a comparison that goes on: its patches to approve, boots, what is done now."""

    def __init__(self) -> None:
        self._shown = ""

    def __call__(self, comparison: RemoteComparison) -> Iterator[str]:
        """Give what changed since the last time."""
        seen = f"{comparison.boots_done} {comparison.now}"
        if comparison.ended or seen == self._shown:
            return
        self._shown = seen
        if comparison.state is RemoteComparisonState.AWAITING:
            number = comparison.comparison_id
            yield approval_text(comparison)
            yield f"decide by `bench-compare --approve {number}`, or --reject {number}"
        yield progress_line(comparison)


def _question(request: StartComparison) -> dict[str, Any]:
    question: dict[str, Any] = {
        "variants": list(request.variants),
        "labels": dict(request.labels),
        "testbeds": list(request.testbeds),
        "workloads": list(request.workloads),
        "iterations": request.iterations,
        "images": request.images,
        "patches": _packed(request.patches),
    }
    if request.min_effect is not None:
        question["min_effect"] = request.min_effect
    if request.priority is not None:
        question["priority"] = request.priority
    return question


def _extension(request: ExtendComparison) -> dict[str, Any]:
    question: dict[str, Any] = {
        "variants": list(request.variants),
        "labels": dict(request.labels),
        "patches": _packed(request.patches),
    }
    if (boots := request.iterations) is not None:
        question["more" if boots.more else "iterations"] = boots.number
    if request.images is not None:
        question["images"] = request.images
    return question


def _packed(patches: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(body).decode("ascii") for name, body in patches.items()}


def _announcement(started: Fields) -> str:
    """`comparison 3: r317849+VIMAGE against r317849, 30 boots, 53 min after all are built`."""
    said = f"comparison {started['comparisonid']}: {long_line(str(started.get('title', '?')))}"
    try:
        hours = hours_text(float(started["hours"]))
        boots = count(int(started["boots"]), iteration_of(started))
        said += f", {boots}, about {hours} after all are built"
    except (KeyError, TypeError, ValueError, AttributeError):
        return said
    return said + _expectation(started.get("expected"), iteration_of(started))


def _expectation(expected: Any, iteration: str) -> str:
    """`; to find 2 % takes about 7 images of each, …`; '' where it is not known."""
    if not isinstance(expected, Mapping):
        return ""
    try:
        images, boots = int(expected["images"]), count(int(expected["boots"]), iteration)
        hours = hours_text(float(expected["hours"]))
        effect = 100 * float(expected["effect"])
    except (KeyError, TypeError, ValueError):
        return ""
    return f"; to find {effect:.3g} % takes about {images} images of each, {boots}, {hours}"


def _write(place: Path, files: Mapping[str, bytes]) -> None:
    try:
        for path, content in files.items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise InfraError(f"cannot write {place}: {error}", hint="try --follow again") from error
    say(f"{len(files)} files are in {place}")
