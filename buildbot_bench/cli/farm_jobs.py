"""What the commands of a farm do alike: begin a job, follow it, read its answers, and list."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from buildbot_bench.api.answers import ComparisonShown, ResultFile, SearchShown
from buildbot_bench.cli.client import FarmClient, FarmUnreachableError, JobKind, NoFarmError
from buildbot_bench.cli.console import ExitStatus, View, Waiting, answer, exit_status, say
from buildbot_bench.cli.farm_access import FarmCommand
from buildbot_bench.cli.wording import begun, table_text
from buildbot_bench.core.errors import InfraError, NotYetError
from buildbot_bench.core.figures import count, hours_text
from buildbot_bench.core.json_model import UnreadableError, from_json
from buildbot_bench.core.legible import csv_text, long_line, one_line, quoted

Answer = TypeVar("Answer")


def understood(kind: type[Answer], raw: Mapping[str, Any], what: str) -> Answer:
    """Read an answer about `what`; raises InfraError for one of another shape."""
    try:
        return from_json(kind, raw)
    except UnreadableError as error:
        raise not_understood(what, error) from error


def not_understood(what: str, error: Exception) -> InfraError:
    """The complaint about an answer of another shape."""
    return InfraError(
        f"the farm's answer about a {what} is not understood: {long_line(str(error))}",
        hint="install the release of buildbot-bench that the farm runs",
    )


_COLUMNS = ("testbed", "workload", "metric", "unit", "variant", "number", "value")
_PATH = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}(?:/(?!\.)[A-Za-z0-9._-]{1,200}){0,2}", re.ASCII)


def read_files(rows: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """The files of a result directory by their paths, none of which leads out of it."""
    files = [understood(ResultFile, row, "result directory") for row in rows]
    for one in files:
        if not _PATH.fullmatch(one.path):
            raise InfraError(f"the farm names a file {quoted(one.path)}: not written")
    return {one.path: one.content for one in files}


def progress_line(comparison: ComparisonShown) -> str:
    """`12:03:41  7 of 30 boots  measuring r317849: forwarding on apu2`."""
    clock = time.strftime("%H:%M:%S")
    done = f"{comparison.boots_done} of {count(comparison.boots, comparison.nouns.iteration)}"
    return f"{clock}  {done}  {comparison.now}".rstrip()


def approval_text(comparison: ComparisonShown) -> str:
    """The patches that await approval, whole: a person who approves them has them run."""
    parts = [f"{comparison.requester} asks to build and run:"]
    parts += [f"--- {patch.origin} ---\n{patch.text.rstrip()}" for patch in comparison.patches]
    return "\n\n".join(parts)


def comparison_outcome(comparison: ComparisonShown) -> str:
    """One line for a comparison that has nothing longer to say."""
    detail = f": {comparison.now}" if comparison.now else ""
    return f"comparison {comparison.comparisonid} {comparison.state}{detail}"


def comparisons_text(comparisons: Sequence[ComparisonShown]) -> str:
    """A list of comparisons as a table with a heading."""
    called = {comparison.nouns.iteration for comparison in comparisons}
    done = f"{called.pop()}s" if len(called) == 1 else "measured"
    rows = [
        (
            str(comparison.comparisonid),
            str(comparison.state),
            begun(comparison.created_at),
            comparison.title,
            f"{comparison.boots_done}/{comparison.boots}",
            comparison.requester,
            comparison.outcome,
        )
        for comparison in comparisons
    ]
    headings = ("ID", "STATE", "BEGUN", "VARIANTS", done.upper(), "BY", "OUTCOME")
    return table_text(headings, rows, "comparisons")


def comparison_csv(report: Mapping[str, Any]) -> str:
    """Return the values of a comparison's report, one a line, in the order measured of each."""
    try:
        rows = [
            (
                *(one_line(str(series[name])) for name in ("testbed", "workload")),
                *(one_line(str(series["metric"][name])) for name in ("name", "unit")),
                one_line(str(variant["label"])),
                number,
                float(value),
            )
            for series in report["series"]
            for variant, side in zip(report["variants"], series["samples"], strict=True)
            for number, value in enumerate(side["values"], start=1)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise not_understood("comparison", error) from error
    return csv_text(_COLUMNS, rows)


LONGEST_PAUSE_S = 30.0


class Watchable(Protocol):
    """What is watched until it has ended."""

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""


Seen = TypeVar("Seen")
Watched = TypeVar("Watched", bound=Watchable)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How often to look, how long to bear silence, and the clock by which both are meant."""

    poll_s: float = 1.0
    patience_s: float = 900.0
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic


def when_ready(
    ask: Callable[[], Seen], notice: Callable[[str], None], pace: Pace, *, hint: str | None = None
) -> Seen:
    """What the farm answers once its mirror of the repository is there, however long that takes.

    `notice` hears how far it is. With a hint, a farm that falls silent meanwhile is asked again as
    `patiently` does it: the question is then one that may be asked twice.
    """
    asked = ask
    while True:
        try:
            return asked()
        except NotYetError as progress:
            notice(progress.message)
            pace.sleep(pace.poll_s)
            if hint is not None:
                asked = partial(patiently, ask, notice, pace, hint=hint)


def follow(look: Callable[[], Watched], view: View[Watched], pace: Pace, *, hint: str) -> Watched:
    """Show what `look` gives until it has ended; return it as it ended.

    A farm that was there and falls silent is asked again, ever more seldom, until `patience_s` is
    spent; then InfraError with the hint. One that never answered is not waited for.
    """
    seen = look()
    while True:
        view.show(seen)
        if seen.ended:
            return seen
        pace.sleep(pace.poll_s)
        seen = patiently(look, view.notice, pace, hint=hint)


def patiently(
    look: Callable[[], Seen], notice: Callable[[str], None], pace: Pace, *, hint: str
) -> Seen:
    """What a look at the farm gives, however long it is away, up to the pace's patience."""
    silent_since_s = pace.monotonic()
    pause_s = pace.poll_s
    warned = False
    while True:
        try:
            seen = look()
        except FarmUnreachableError as error:
            left_s = silent_since_s + pace.patience_s - pace.monotonic()
            if left_s <= 0:
                raise InfraError(error.message, hint=hint) from error
            if not warned:
                warned = True
                patience = hours_text(pace.patience_s / 3600)
                notice(f"{error.message}; trying again for {patience}")
            pace.sleep(min(pause_s, left_s))
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
        else:
            if warned:
                notice("the farm answers again")
            return seen


_LISTED = 20
Fields = Mapping[str, Any]
Job = TypeVar("Job", SearchShown, ComparisonShown)


class FarmJobs(ABC, Generic[Job]):
    """The searches of a farm, or its comparisons, as one command line acts on them."""

    kind: JobKind
    shown: type[Job]

    def __init__(self, command: FarmCommand, farm: FarmClient) -> None:
        self.command, self.farm = command, farm
        self.pace = Pace(poll_s=command.farm.poll_s, patience_s=command.farm.patience_s)

    @abstractmethod
    def outcome(self, job: Job) -> str:
        """One line for what has nothing longer to say."""

    @abstractmethod
    def listed(self, jobs: list[Job]) -> str:
        """The newest ones as a table."""

    @abstractmethod
    def watch(self, number: int) -> Job:
        """Show one until it ends."""

    def text(self, job: Job) -> str | None:
        """The report of what has ended."""
        return job.text

    def run(self) -> int:
        """Do what both commands do; returns the exit status."""
        match self.command.action:
            case "follow":
                return self.follow(self.command.number)
            case "cancel":
                return self._cancel(self.command.number)
        rows = self.farm.rows(self.kind.plural, limit=_LISTED)
        text = self.listed([understood(self.shown, row, self.kind.noun) for row in rows])
        return self.answer(text, {self.kind.plural: rows})

    def one(self, number: int) -> Job:
        """What has a number, as it stands now."""
        return understood(self.shown, self.farm.one(self.kind, number), self.kind.noun)

    def begin(self, place: str, action: str, question: Fields, *, unsure: str) -> dict[str, Any]:
        """Ask once; `unsure` says how to learn whether it began where the answer is lost."""
        try:
            with Waiting() as waiting:
                begun = when_ready(
                    lambda: self.farm.act(place, action, question), waiting, self.pace
                )
        except NoFarmError:
            raise
        except FarmUnreachableError as error:
            raise InfraError(error.message, hint=unsure) from error
        except KeyboardInterrupt:
            say(f"interrupted; {unsure}")
            raise
        if not isinstance(begun.get(self.kind.key), int):
            noun = self.kind.noun
            raise InfraError(f"the farm does not say which {noun} it is", hint=unsure)
        return begun

    def go_on(self, begun: Fields) -> int:
        """Follow what has begun, or leave it to the farm."""
        number: int = begun[self.kind.key]
        if self.command.wait:
            return self.follow(number)
        self._goes_on(number)
        return self.answer(str(number), begun)

    def follow(self, number: int) -> int:
        """Tell what is seen of it in the end, by its text if there is one."""
        try:
            job = self.watch(number)
        except KeyboardInterrupt:
            self._goes_on(number)
            return ExitStatus.INTERRUPTED
        report = job.report or {"kind": str(job.state), self.kind.key: number}
        self.answer(self.text(job) or self.outcome(job), report)
        return exit_status(job.state)

    def _cancel(self, number: int) -> int:
        """Cancel it; of one that had ended before, say how, with the status of `--follow`."""
        kind = self.kind
        state = self.farm.act(kind.at(number), "cancel", {}).get("state")
        said = {kind.key: number, "state": state}
        if state == "cancelling":
            return self.answer(f"{kind.noun} {number} is being cancelled", said)
        job = self.one(number)
        self.answer(f"nothing to cancel: {self.outcome(job)}", said)
        return exit_status(job.state)

    def _goes_on(self, number: int) -> None:
        again = f"{self.kind.command} --follow {number}{self.command.farm.argument}"
        say(f"{self.kind.noun} {number} goes on; come back with: {again}")

    def answer(self, text: str, value: Fields) -> int:
        """Print the answer in the form that was asked for; returns the exit status of one."""
        answer(text, value, as_json=self.command.form == "json")
        return ExitStatus.ANSWERED
