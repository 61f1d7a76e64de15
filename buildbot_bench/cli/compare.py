"""The command bench-compare: does one request and says in its exit status how it went."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Mapping
from typing import Any

from buildbot_bench.cli.client import FarmClient, FarmUnreachableError
from buildbot_bench.cli.compare_arguments import (
    CancelTrial,
    CompareCommand,
    DecideTrial,
    FollowTrial,
    ListTrials,
    StartTrial,
    parse_compare,
)
from buildbot_bench.cli.console import Waiting, answer, exit_status_of, farm_at, say
from buildbot_bench.cli.exits import ExitStatus
from buildbot_bench.cli.follow import Pace, patiently, when_ready
from buildbot_bench.cli.trial_answers import (
    RemoteTrial,
    RemoteTrialState,
    approval_text,
    progress_line,
    read_files,
    read_trial,
    trial_outcome,
    trials_text,
)
from buildbot_bench.cli.wording import hours_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import long_line

_LISTED = 20
_STATUS = {
    RemoteTrialState.DONE: ExitStatus.ANSWERED,
    RemoteTrialState.UNTESTABLE: ExitStatus.INCONCLUSIVE,
    RemoteTrialState.CANCELLED: ExitStatus.INCONCLUSIVE,
    RemoteTrialState.REJECTED: ExitStatus.INCONCLUSIVE,
    RemoteTrialState.FAILED: ExitStatus.INFRASTRUCTURE,
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
        case StartTrial() as request:
            return _start(command, request, farm)
        case FollowTrial(trial_id=trial_id):
            return _follow(command, trial_id, farm)
        case CancelTrial(trial_id=trial_id):
            farm.cancel_trial(trial_id)
            _answer(command, f"trial {trial_id} is being cancelled", {"trialid": trial_id})
        case DecideTrial(trial_id=trial_id, decision=decision):
            farm.decide_trial(trial_id, decision)
            _answer(command, f"trial {trial_id}: {decision}", {"trialid": trial_id})
        case ListTrials():
            rows = farm.trials(limit=_LISTED)
            _answer(command, trials_text([read_trial(row) for row in rows]), {"trials": rows})
    return ExitStatus.ANSWERED


def _start(command: CompareCommand, request: StartTrial, farm: FarmClient) -> int:
    started = _begin(request, farm, Pace(poll_s=command.farm.poll_s))
    trial_id = started["trialid"]
    if request.wait:
        return _follow(command, trial_id, farm)
    say(f"trial {trial_id} goes on; come back with: {_come_back(command, trial_id)}")
    _answer(command, str(trial_id), started)
    return ExitStatus.ANSWERED


def _begin(request: StartTrial, farm: FarmClient, pace: Pace) -> dict[str, Any]:
    """Start the trial, once: a lost answer is not asked for again, it might start another.

    Raises:
        InfraError: When the farm is lost, or does not say which trial it started.
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
    unsure = "whether the trial began, `bench-compare --list` shows"
    try:
        with Waiting() as waiting:
            started = when_ready(lambda: farm.start_trial(question), waiting, pace)
    except FarmUnreachableError as error:
        raise InfraError(error.message, hint=unsure) from error
    except KeyboardInterrupt:
        say(f"interrupted; {unsure}")
        raise
    if not isinstance(started.get("trialid"), int):
        raise InfraError("the farm does not say which trial it started", hint=unsure)
    say(_announcement(started))
    return started


def _announcement(started: Mapping[str, Any]) -> str:
    """`trial 3: r317849+VIMAGE against r317849, 30 boots, 53 min after both are built`."""
    base, new = (long_line(str(started.get(side, "?"))) for side in ("base", "new"))
    said = f"trial {started['trialid']}: {new} against {base}"
    try:
        hours = hours_text(float(started["hours"]))
        return f"{said}, {int(started['boots'])} boots, about {hours} after both are built"
    except (KeyError, TypeError, ValueError):
        return said


def _follow(command: CompareCommand, trial_id: int, farm: FarmClient) -> int:
    pace = Pace(poll_s=command.farm.poll_s, patience_s=command.farm.patience_s)
    try:
        trial = _wait(farm, trial_id, pace)
    except KeyboardInterrupt:
        say(f"trial {trial_id} goes on; come back with: {_come_back(command, trial_id)}")
        return ExitStatus.INTERRUPTED
    if command.output is not None:
        _write(command, read_files(farm.trial_files(trial_id)))
    said = trial.markdown if command.form == "markdown" else trial.text
    report = trial.report or {"kind": str(trial.state), "trialid": trial_id}
    _answer(command, said or trial_outcome(trial), report)
    return _STATUS[trial.state]


def _wait(farm: FarmClient, trial_id: int, pace: Pace) -> RemoteTrial:
    """Show the trial until it ends; a farm that falls silent meanwhile is waited for."""
    hint = f"the trial goes on with the farm: `bench-compare --follow {trial_id}`"
    trial, shown = read_trial(farm.trial(trial_id)), ""
    while not trial.ended:
        seen = f"{trial.boots_done} {trial.now}"
        if seen != shown:
            if trial.state is RemoteTrialState.AWAITING:
                say(approval_text(trial))
                say(f"decide by `bench-compare --approve {trial_id}`, or --reject {trial_id}")
            say(progress_line(trial))
            shown = seen
        pace.sleep(pace.poll_s)
        trial = patiently(lambda: read_trial(farm.trial(trial_id)), say, pace, hint=hint)
    return trial


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


def _come_back(command: CompareCommand, trial_id: int) -> str:
    return f"bench-compare --follow {trial_id}{command.farm.argument}"


def _answer(command: CompareCommand, text: str, value: Mapping[str, Any]) -> None:
    answer(text, value, as_json=command.form == "json")


if __name__ == "__main__":
    sys.exit(main())
