"""What the commands of a farm do alike: begin a search or a comparison, follow, end and list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from buildbot_bench.cli.client import FarmClient, FarmUnreachableError, NoFarmError, Sort
from buildbot_bench.cli.console import Waiting, answer, say
from buildbot_bench.cli.exits import ExitStatus, exit_status
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.follow import Pace, when_ready
from buildbot_bench.cli.requests import Cancel, Follow, ListNewest, Request
from buildbot_bench.core.errors import InfraError

_LISTED = 20
Fields = Mapping[str, Any]


class Remote(Protocol):
    """A search or a comparison as the farm shows it."""

    @property
    def state(self) -> str:
        """Where it stands."""

    @property
    def report(self) -> Fields | None:
        """What it came to."""


Job = TypeVar("Job", bound=Remote)


@dataclass(frozen=True, kw_only=True, slots=True)
class Words(Generic[Job]):
    """How a command reads and says what its farm has."""

    read: Callable[[Fields], Job]
    outcome: Callable[[Job], str]
    listed: Callable[[list[Job]], str]


class FarmJobs(Generic[Job]):
    """The searches of a farm, or its comparisons, as one command line acts on them."""

    def __init__(
        self, sort: Sort, words: Words[Job], command: FarmCommand, farm: FarmClient
    ) -> None:
        self._sort, self._words, self._command, self._farm = sort, words, command, farm
        self.pace = Pace(poll_s=command.farm.poll_s, patience_s=command.farm.patience_s)

    def serve(self, request: Request, follow: Callable[[int], int]) -> int:
        """Answer a request that both commands have; returns the exit status."""
        match request:
            case Follow(number=number):
                return follow(number)
            case Cancel(number=number):
                return self._cancel(number)
            case ListNewest():
                rows = self._farm.rows(self._sort.plural, limit=_LISTED)
                text = self._words.listed([self._words.read(row) for row in rows])
                return self.answer(text, {self._sort.plural: rows})
        raise TypeError(f"{request} is not for both commands")

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
        if not isinstance(begun.get(self._sort.key), int):
            noun = self._sort.noun
            raise InfraError(f"the farm does not say which {noun} it is", hint=unsure)
        return begun

    def go_on(self, begun: Fields, follow: Callable[[int], int], *, wait: bool) -> int:
        """Follow what has begun, or leave it to the farm."""
        number: int = begun[self._sort.key]
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
        report = job.report or {"kind": str(job.state), self._sort.key: number}
        self.answer(text(job) or self._words.outcome(job), report)
        return exit_status(job.state)

    def _cancel(self, number: int) -> int:
        """Cancel it; of one that had ended before, say how, with the status of `--follow`."""
        sort = self._sort
        state = self._farm.act(sort.at(number), "cancel", {}).get("state")
        said = {sort.key: number, "state": state}
        if state == "cancelling":
            return self.answer(f"{sort.noun} {number} is being cancelled", said)
        job = self._words.read(self._farm.one(sort, number))
        self.answer(f"nothing to cancel: {self._words.outcome(job)}", said)
        return exit_status(job.state)

    def _goes_on(self, number: int) -> None:
        again = f"{self._sort.command} --follow {number}{self._command.farm.argument}"
        say(f"{self._sort.noun} {number} goes on; come back with: {again}")

    def answer(self, text: str, value: Fields) -> int:
        """Print the answer in the form that was asked for; returns the exit status of one."""
        answer(text, value, as_json=self._command.form == "json")
        return ExitStatus.ANSWERED
