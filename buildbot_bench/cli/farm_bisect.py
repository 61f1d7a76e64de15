"""`bench-bisect` with a farm: send one request, follow it and return its exit status."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from buildbot_bench.cli.answers import RemoteSearchState, read_forecast, read_question, read_search
from buildbot_bench.cli.arguments import BisectCommand
from buildbot_bench.cli.client import FarmClient, FarmUnreachableError, farm_at
from buildbot_bench.cli.console import Waiting, answer, say
from buildbot_bench.cli.exits import ExitStatus, exit_status
from buildbot_bench.cli.follow import Pace, follow, when_ready
from buildbot_bench.cli.live import LiveDisplay, can_redraw
from buildbot_bench.cli.progress import Display, LineDisplay
from buildbot_bench.cli.requests import (
    CancelSearch,
    FollowSearch,
    ListSearches,
    MarkSearch,
    ReleaseTestbed,
    StartSearch,
)
from buildbot_bench.cli.wording import (
    forecast_text,
    mark_text,
    outcome_text,
    question_text,
    release_text,
    searches_text,
)
from buildbot_bench.core.errors import InfraError

_LISTED = 20


def run(command: BisectCommand) -> int:
    """Ask the farm what the command line says; returns the exit status."""
    with farm_at(command.farm) as farm:
        return _run(command, farm)


def _run(command: BisectCommand, farm: FarmClient) -> int:
    match command.request:
        case StartSearch() as request:
            return _start(command, request, farm)
        case FollowSearch(search_id=search_id):
            return _follow(command, search_id, farm)
        case CancelSearch(search_id=search_id):
            return _cancel(command, search_id, farm)
        case MarkSearch() as mark:
            kept = farm.mark(mark.search_id, mark.kind, mark.revision)
            _answer(command, mark_text(mark), kept)
        case ReleaseTestbed() as release:
            farm.release(release.testbed, false_alarm=release.false_alarm)
            released = {"testbed": release.testbed, "false_alarm": release.false_alarm}
            _answer(command, release_text(release), released)
        case ListSearches():
            rows = farm.searches(limit=_LISTED)
            text = searches_text([read_search(row) for row in rows])
            _answer(command, text, {"searches": rows})
    return ExitStatus.ANSWERED


def _start(command: BisectCommand, request: StartSearch, farm: FarmClient) -> int:
    question = _question(request)
    pace = Pace(poll_s=command.farm.poll_s, patience_s=command.farm.patience_s)
    hint = "nothing was started; ask again when it is back"
    try:
        with Waiting() as waiting:
            ask = farm.forecast if request.dry_run else farm.check
            raw = when_ready(lambda: ask(question), waiting, pace, hint=hint)
    except KeyboardInterrupt:
        say("interrupted; nothing was started")
        raise
    if request.dry_run:
        _answer(command, forecast_text(read_forecast(raw)), raw)
        return ExitStatus.ANSWERED
    say(f"{question_text(read_question(raw))}\nforecast follows")
    search_id = _begin(request, question, farm, pace)
    if request.wait:
        return _follow(command, search_id, farm, cost=True)
    say(f"search {search_id} goes on; come back with: {_come_back(command, search_id)}")
    _answer(command, str(search_id), {"searchid": search_id, "forecast": None} | raw)
    return ExitStatus.ANSWERED


def _question(request: StartSearch) -> dict[str, Any]:
    asked = {
        "old": request.old,
        "new": request.new,
        "testbed": request.testbed,
        "workload": request.workload,
        "with": request.fix,
        "priority": request.priority,
    }
    return {key: value for key, value in asked.items() if value is not None}


def _begin(request: StartSearch, question: Mapping[str, Any], farm: FarmClient, pace: Pace) -> int:
    """Start the search, once: a lost answer is not asked for again, it might start another."""
    effect = {} if request.min_effect is None else {"min_effect": request.min_effect}
    unsure = "whether the search began, `bench-bisect --list` shows"
    try:
        with Waiting() as waiting:
            started = when_ready(lambda: farm.start({**question, **effect}), waiting, pace)
    except FarmUnreachableError as error:
        raise InfraError(error.message, hint=unsure) from error
    except KeyboardInterrupt:
        say(f"interrupted; {unsure}")
        raise
    search_id = started.get("searchid")
    if not isinstance(search_id, int):
        raise InfraError("the farm does not say which search it started", hint=unsure)
    return search_id


def _follow(command: BisectCommand, search_id: int, farm: FarmClient, *, cost: bool = False) -> int:
    pace = Pace(poll_s=command.farm.poll_s, patience_s=command.farm.patience_s)
    try:
        with _display() as display:
            search = follow(farm, search_id, display, pace, cost=cost)
    except KeyboardInterrupt:
        say(f"search {search_id} goes on; come back with: {_come_back(command, search_id)}")
        return ExitStatus.INTERRUPTED
    report = search.report or {"kind": str(search.state), "searchid": search_id}
    _answer(command, search.text or outcome_text(search), report)
    return exit_status(search.state)


def _cancel(command: BisectCommand, search_id: int, farm: FarmClient) -> int:
    """Cancel it; of one that had ended before, say how, with the status of `--follow`."""
    state = farm.cancel(search_id).get("state")
    said = {"searchid": search_id, "state": state}
    if state == RemoteSearchState.CANCELLING:
        _answer(command, f"search {search_id} is being cancelled", said)
        return ExitStatus.ANSWERED
    search = read_search(farm.search(search_id))
    _answer(command, f"nothing to cancel: {outcome_text(search)}", said)
    return exit_status(search.state)


def _display() -> Display:
    return LiveDisplay(sys.stderr) if can_redraw(sys.stderr) else LineDisplay(sys.stderr)


def _come_back(command: BisectCommand, search_id: int) -> str:
    return f"bench-bisect --follow {search_id}{command.farm.argument}"


def _answer(command: BisectCommand, text: str, value: Mapping[str, Any]) -> None:
    answer(text, value, as_json=command.json)
