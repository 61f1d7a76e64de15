"""`bench-compare` with a farm: send one request, follow it and return its exit status."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from buildbot_bench.cli.answers import iteration_of
from buildbot_bench.cli.client import FarmClient, FarmUnreachableError, NoFarmError, farm_at
from buildbot_bench.cli.compare_arguments import CompareCommand
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
from buildbot_bench.cli.comparison_requests import (
    CancelComparison,
    DecideComparison,
    ExtendComparison,
    FollowComparison,
    ListComparisons,
    StartComparison,
)
from buildbot_bench.cli.console import Waiting, answer, say
from buildbot_bench.cli.exits import ExitStatus
from buildbot_bench.cli.follow import Pace, patiently, when_ready
from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import count
from buildbot_bench.core.legible import long_line

_LISTED = 20
_STATUS = {
    RemoteComparisonState.DONE: ExitStatus.ANSWERED,
    RemoteComparisonState.UNTESTABLE: ExitStatus.INCONCLUSIVE,
    RemoteComparisonState.CANCELLED: ExitStatus.INCONCLUSIVE,
    RemoteComparisonState.REJECTED: ExitStatus.INCONCLUSIVE,
    RemoteComparisonState.FAILED: ExitStatus.INFRASTRUCTURE,
}


def run(command: CompareCommand) -> int:
    """Ask the farm what the command line says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _run(command, farm)


def _run(command: CompareCommand, farm: FarmClient) -> int:
    match command.request:
        case StartComparison() as request:
            return _start(command, request, farm)
        case ExtendComparison() as request:
            return _extend(command, request, farm)
        case FollowComparison(comparison_id=comparison_id):
            return _follow(command, comparison_id, farm)
        case CancelComparison(comparison_id=comparison_id):
            return _cancel(command, comparison_id, farm)
        case DecideComparison(comparison_id=comparison_id, decision=decision):
            farm.decide_comparison(comparison_id, decision)
            _answer(
                command, f"comparison {comparison_id}: {decision}", {"comparisonid": comparison_id}
            )
        case ListComparisons():
            rows = farm.comparisons(limit=_LISTED)
            _answer(
                command,
                comparisons_text([read_comparison(row) for row in rows]),
                {"comparisons": rows},
            )
    return ExitStatus.ANSWERED


def _start(command: CompareCommand, request: StartComparison, farm: FarmClient) -> int:
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
    unsure = "whether the comparison began, `bench-compare --list` shows"
    started = _once(command, lambda: farm.start_comparison(question), unsure)
    return _go_on(command, started, farm, wait=request.wait)


def _extend(command: CompareCommand, request: ExtendComparison, farm: FarmClient) -> int:
    question: dict[str, Any] = {
        "variants": list(request.variants),
        "labels": dict(request.labels),
        "patches": _packed(request.patches),
    }
    if (boots := request.iterations) is not None:
        question["more" if boots.more else "iterations"] = boots.number
    if request.images is not None:
        question["images"] = request.images
    number = request.comparison_id
    unsure = f"whether comparison {number} goes on, `bench-compare --follow {number}` shows"
    extended = _once(command, lambda: farm.extend_comparison(number, question), unsure)
    return _go_on(command, extended, farm, wait=request.wait)


def _packed(patches: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(body).decode("ascii") for name, body in patches.items()}


def _go_on(
    command: CompareCommand, started: Mapping[str, Any], farm: FarmClient, *, wait: bool
) -> int:
    comparison_id: int = started["comparisonid"]
    if wait:
        return _follow(command, comparison_id, farm)
    say(f"comparison {comparison_id} goes on; come back with: {_come_back(command, comparison_id)}")
    _answer(command, str(comparison_id), started)
    return ExitStatus.ANSWERED


def _once(
    command: CompareCommand, ask: Callable[[], dict[str, Any]], unsure: str
) -> dict[str, Any]:
    """Ask once: when the answer is lost, another request might begin another comparison."""
    try:
        with Waiting() as waiting:
            started = when_ready(ask, waiting, Pace(poll_s=command.farm.poll_s))
    except NoFarmError:
        raise
    except FarmUnreachableError as error:
        raise InfraError(error.message, hint=unsure) from error
    except KeyboardInterrupt:
        say(f"interrupted; {unsure}")
        raise
    if not isinstance(started.get("comparisonid"), int):
        raise InfraError("the farm does not say which comparison it is", hint=unsure)
    say(_announcement(started))
    return started


def _announcement(started: Mapping[str, Any]) -> str:
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


def _follow(command: CompareCommand, comparison_id: int, farm: FarmClient) -> int:
    pace = Pace(poll_s=command.farm.poll_s, patience_s=command.farm.patience_s)
    try:
        comparison = _wait(farm, comparison_id, pace)
    except KeyboardInterrupt:
        say(
            f"comparison {comparison_id} goes on; "
            f"come back with: {_come_back(command, comparison_id)}"
        )
        return ExitStatus.INTERRUPTED
    if command.output is not None:
        _write(command, read_files(farm.comparison_files(comparison_id)))
    said = comparison.markdown if command.form == "markdown" else comparison.text
    report = comparison.report or {"kind": str(comparison.state), "comparisonid": comparison_id}
    if command.form == "csv" and comparison.report is not None:
        said = comparison_csv(comparison.report)
    _answer(command, said or comparison_outcome(comparison), report)
    return _STATUS[comparison.state]


def _cancel(command: CompareCommand, comparison_id: int, farm: FarmClient) -> int:
    """Cancel it; of one that had ended before, say how, with the status of `--follow`."""
    state = farm.cancel_comparison(comparison_id).get("state")
    said = {"comparisonid": comparison_id, "state": state}
    if state == RemoteComparisonState.CANCELLING:
        _answer(command, f"comparison {comparison_id} is being cancelled", said)
        return ExitStatus.ANSWERED
    comparison = read_comparison(farm.comparison(comparison_id))
    _answer(command, f"nothing to cancel: {comparison_outcome(comparison)}", said)
    return _STATUS[comparison.state]


def _wait(farm: FarmClient, comparison_id: int, pace: Pace) -> RemoteComparison:
    """Show the comparison until it ends; a farm that falls silent meanwhile is waited for."""
    hint = f"the comparison goes on with the farm: `bench-compare --follow {comparison_id}`"
    comparison, shown = read_comparison(farm.comparison(comparison_id)), ""
    while not comparison.ended:
        seen = f"{comparison.boots_done} {comparison.now}"
        if seen != shown:
            if comparison.state is RemoteComparisonState.AWAITING:
                say(approval_text(comparison))
                say(
                    f"decide by `bench-compare --approve {comparison_id}`, "
                    f"or --reject {comparison_id}"
                )
            say(progress_line(comparison))
            shown = seen
        pace.sleep(pace.poll_s)
        comparison = patiently(
            lambda: read_comparison(farm.comparison(comparison_id)), say, pace, hint=hint
        )
    return comparison


def _write(command: CompareCommand, files: Mapping[str, bytes]) -> None:
    place = command.output
    assert place is not None  # noqa: S101 - asked by the caller
    try:
        for path, content in files.items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise InfraError(f"cannot write {place}: {error}", hint="try --follow again") from error
    say(f"{len(files)} files are in {place}")


def _come_back(command: CompareCommand, comparison_id: int) -> str:
    return f"bench-compare --follow {comparison_id}{command.farm.argument}"


def _answer(command: CompareCommand, text: str, value: Mapping[str, Any]) -> None:
    answer(text, value, as_json=command.form == "json")
