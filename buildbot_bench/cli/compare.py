"""The command bench-compare: does one request and says in its exit status how it went."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Mapping
from typing import Any

from buildbot_bench.cli.client import FarmClient, FarmUnreachableError
from buildbot_bench.cli.compare_arguments import (
    CancelComparison,
    CompareCommand,
    DecideComparison,
    FollowComparison,
    ListComparisons,
    StartComparison,
    parse_compare,
)
from buildbot_bench.cli.comparison_answers import (
    RemoteComparison,
    RemoteComparisonState,
    approval_text,
    comparison_outcome,
    comparisons_text,
    progress_line,
    read_comparison,
    read_files,
)
from buildbot_bench.cli.console import Waiting, answer, exit_status_of, farm_at, say
from buildbot_bench.cli.exits import ExitStatus
from buildbot_bench.cli.follow import Pace, patiently, when_ready
from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import long_line

_LISTED = 20
_STATUS = {
    RemoteComparisonState.DONE: ExitStatus.ANSWERED,
    RemoteComparisonState.UNTESTABLE: ExitStatus.INCONCLUSIVE,
    RemoteComparisonState.CANCELLED: ExitStatus.INCONCLUSIVE,
    RemoteComparisonState.REJECTED: ExitStatus.INCONCLUSIVE,
    RemoteComparisonState.FAILED: ExitStatus.INFRASTRUCTURE,
}


def main(argv: list[str] | None = None) -> int:
    """Run the command; `argv` without its name, sys.argv's when None. Returns the exit status."""
    return exit_status_of("bench-compare", lambda: _main(argv))


def _main(argv: list[str] | None) -> int:
    command = parse_compare(argv, os.environ)
    with farm_at(command.farm) as farm:
        return _run(command, farm)


def _run(command: CompareCommand, farm: FarmClient) -> int:
    match command.request:
        case StartComparison() as request:
            return _start(command, request, farm)
        case FollowComparison(comparison_id=comparison_id):
            return _follow(command, comparison_id, farm)
        case CancelComparison(comparison_id=comparison_id):
            farm.cancel_comparison(comparison_id)
            _answer(
                command,
                f"comparison {comparison_id} is being cancelled",
                {"comparisonid": comparison_id},
            )
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
    started = _begin(request, farm, Pace(poll_s=command.farm.poll_s))
    comparison_id = started["comparisonid"]
    if request.wait:
        return _follow(command, comparison_id, farm)
    say(f"comparison {comparison_id} goes on; come back with: {_come_back(command, comparison_id)}")
    _answer(command, str(comparison_id), started)
    return ExitStatus.ANSWERED


def _begin(request: StartComparison, farm: FarmClient, pace: Pace) -> dict[str, Any]:
    """Start the comparison, once: a lost answer is not asked for again, it might start another.

    Raises:
        InfraError: When the farm is lost, or does not say which comparison it started.
        KeyboardInterrupt: As it came, once it is said where to look.
    """
    question: dict[str, Any] = {
        "base": request.base,
        "new": request.new,
        "testbeds": list(request.testbeds),
        "workloads": list(request.workloads),
        "iterations": request.iterations,
        "patches": {
            name: base64.b64encode(body).decode("ascii") for name, body in request.patches.items()
        },
    }
    if request.min_effect is not None:
        question["min_effect"] = request.min_effect
    unsure = "whether the comparison began, `bench-compare --list` shows"
    try:
        with Waiting() as waiting:
            started = when_ready(lambda: farm.start_comparison(question), waiting, pace)
    except FarmUnreachableError as error:
        raise InfraError(error.message, hint=unsure) from error
    except KeyboardInterrupt:
        say(f"interrupted; {unsure}")
        raise
    if not isinstance(started.get("comparisonid"), int):
        raise InfraError("the farm does not say which comparison it started", hint=unsure)
    say(_announcement(started))
    return started


def _announcement(started: Mapping[str, Any]) -> str:
    """`comparison 3: r317849+VIMAGE against r317849, 30 boots, 53 min after both are built`."""
    base, new = (long_line(str(started.get(side, "?"))) for side in ("base", "new"))
    said = f"comparison {started['comparisonid']}: {new} against {base}"
    try:
        hours = hours_text(float(started["hours"]))
        return f"{said}, {int(started['boots'])} boots, about {hours} after both are built"
    except (KeyError, TypeError, ValueError):
        return said


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
    _answer(command, said or comparison_outcome(comparison), report)
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


if __name__ == "__main__":
    sys.exit(main())
