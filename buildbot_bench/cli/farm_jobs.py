"""What the commands of a farm do alike: begin a search or a comparison, follow, end and list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from buildbot_bench.api.comparisons import ComparisonShown
from buildbot_bench.api.searches import SearchShown
from buildbot_bench.cli.answers import understood
from buildbot_bench.cli.client import FarmClient, FarmUnreachableError, JobKind, NoFarmError
from buildbot_bench.cli.console import Waiting, answer, say
from buildbot_bench.cli.exits import ExitStatus, exit_status
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.follow import Pace, when_ready
from buildbot_bench.cli.requests import Cancel, Follow, ListNewest, Request
from buildbot_bench.core.errors import InfraError

_LISTED = 20
Fields = Mapping[str, Any]


Job = TypeVar("Job", SearchShown, ComparisonShown)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobWords(Generic[Job]):
    """What a command's farm has, and how it is said."""

    kind: type[Job]
    outcome: Callable[[Job], str]
    listed: Callable[[list[Job]], str]


class FarmJobs(Generic[Job]):
    """The searches of a farm, or its comparisons, as one command line acts on them."""

    def __init__(
        self, kind: JobKind, words: JobWords[Job], command: FarmCommand, farm: FarmClient
    ) -> None:
        self._kind, self._command, self._farm = kind, command, farm
        self._words: JobWords[Job] = words
        self.pace = Pace(poll_s=command.farm.poll_s, patience_s=command.farm.patience_s)

    def serve(self, request: Request, follow: Callable[[int], int]) -> int:
        """Answer a request that both commands have; returns the exit status."""
        match request:
            case Follow(number=number):
                return follow(number)
            case Cancel(number=number):
                return self._cancel(number)
            case ListNewest():
                rows = self._farm.rows(self._kind.plural, limit=_LISTED)
                text = self._words.listed([self.read(row) for row in rows])
                return self.answer(text, {self._kind.plural: rows})
        raise TypeError(f"{request} is not for both commands")

    def read(self, raw: Fields) -> Job:
        """Understand an answer; raises InfraError for one of another shape."""
        kind: type[Job] = self._words.kind
        return understood(kind, raw, self._kind.noun)

    def one(self, number: int) -> Job:
        """What has a number, as it stands now."""
        return self.read(self._farm.one(self._kind, number))

    def begin(self, place: str, action: str, question: Fields, *, unsure: str) -> dict[str, Any]:
        """Ask once: where the answer is lost, another request might begin another.

        `unsure` says how to learn whether it began.
        """
        try:
            with Waiting() as waiting:
                begun = when_ready(
                    lambda: self._farm.act(place, action, question), waiting, self.pace
                )
        except NoFarmError:
            raise
        except FarmUnreachableError as error:
            raise InfraError(error.message, hint=unsure) from error
        except KeyboardInterrupt:
            say(f"interrupted; {unsure}")
            raise
        if not isinstance(begun.get(self._kind.key), int):
            noun = self._kind.noun
            raise InfraError(f"the farm does not say which {noun} it is", hint=unsure)
        return begun

    def go_on(self, begun: Fields, follow: Callable[[int], int], *, wait: bool) -> int:
        """Follow what has begun, or leave it to the farm."""
        number: int = begun[self._kind.key]
        if wait:
            return follow(number)
        self._goes_on(number)
        return self.answer(str(number), begun)

    def follow(
        self, number: int, watch: Callable[[], Job], text: Callable[[Job], str | None]
    ) -> int:
        """Tell what `watch` saw in the end, by `text` if there is one."""
        try:
            job = watch()
        except KeyboardInterrupt:
            self._goes_on(number)
            return ExitStatus.INTERRUPTED
        report = job.report or {"kind": str(job.state), self._kind.key: number}
        self.answer(text(job) or self._words.outcome(job), report)
        return exit_status(job.state)

    def _cancel(self, number: int) -> int:
        """Cancel it; of one that had ended before, say how, with the status of `--follow`."""
        kind = self._kind
        state = self._farm.act(kind.at(number), "cancel", {}).get("state")
        said = {kind.key: number, "state": state}
        if state == "cancelling":
            return self.answer(f"{kind.noun} {number} is being cancelled", said)
        job = self.one(number)
        self.answer(f"nothing to cancel: {self._words.outcome(job)}", said)
        return exit_status(job.state)

    def _goes_on(self, number: int) -> None:
        again = f"{self._kind.command} --follow {number}{self._command.farm.argument}"
        say(f"{self._kind.noun} {number} goes on; come back with: {again}")

    def answer(self, text: str, value: Fields) -> int:
        """Print the answer in the form that was asked for; returns the exit status of one."""
        answer(text, value, as_json=self._command.form == "json")
        return ExitStatus.ANSWERED
