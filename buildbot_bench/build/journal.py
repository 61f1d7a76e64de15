"""The run of a build's commands: progress on the terminal, output in a log, cause of a failure."""

import re
import subprocess
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from buildbot_bench.core.build_log import BuildLog, Diagnosis, Stage, Stages, failure
from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.programs import answer_of

_EVERY_S = 10.0  # a line in a log of Buildbot's, or on a terminal
_SHOWN = 20  # lines, of the log's end
_AROUND = 6  # lines after the first error: the source and where in it
_LONGEST = 400  # characters of a line that is shown; a command of FreeBSD's has thousands
_DIRECTORY = re.compile(r"===> (\S+) \(")  # of the tree, as make enters it
_FORECAST = (Stage.KERNEL, Stage.WORLD)
_LEAST_DONE = 50  # files, before their speed says something of the others'
_TOGETHER = {Stage.KERNEL: "kernel and modules", Stage.MODULES: "kernel and modules"}


class Journal:
    """Follows one build. `source` is cut off the names of files in what it shows.

    `about` says, when the kernel or the userland is begun, how many files are to be compiled; 0:
    not known. `compiled` of them an interrupted build of the userland has compiled before.
    """

    def __init__(
        self,
        *,
        log: Path,
        out: IO[str],
        source: Path,
        configuration: Path,
        about: Callable[[], int] = lambda: 0,
        compiled: int = 0,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._out, self._verbose = log, out, verbose
        self._log = log.open("w", encoding="utf-8", errors="replace")
        # A path of an object tree has that of the source within.
        self._source = re.compile(rf"(?<![\w./-]){re.escape(str(source))}/")
        self._configuration = str(configuration)
        self._about, self._files = about, 0
        self._clock = clock
        self._since = self._shown_at = clock()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._stages = Stages()
        self._stages.compiled = compiled
        self._begun_at, self._begun_with = self._since, compiled
        self._directory = ""
        self._doing = "preparation"
        self._last: deque[str] = deque(maxlen=_SHOWN)

    @property
    def compiled(self) -> int:
        """How many files of kernel and modules were compiled."""
        return self._stages.compiled

    def begin(self, stage: Stage) -> None:
        """A command starts in this stage."""
        compiled = self._stages.compiled
        self._stages = Stages(stage)
        self._stages.compiled = compiled
        self._enter(stage)

    def take(self, line: str) -> None:
        """Look at one line of the build's output."""
        self._log.write(f"{line}\n")
        self._last.append(line)
        if self._verbose:
            self.say(line)
        before = self._stages.stage
        self._stages.take(line)
        if self._stages.stage is not before:
            self._enter(self._stages.stage)
        elif self._stages.stage in _TOGETHER:
            self._progress(f"{self._counted()} files")
        else:
            if entered := _DIRECTORY.match(line):
                self._directory = entered[1]
            if self._stages.stage is Stage.WORLD and self.compiled:
                self._progress(f"{self._directory}, {self._counted()} files{self._forecast()}")
            elif entered:
                self._progress(self._directory)

    def _counted(self) -> str:
        of = f" of about {self._files}" if self._files > self.compiled else ""
        return f"{self.compiled}{of}"

    def _forecast(self) -> str:
        """How long the rest takes at this run's own speed; empty until that is known."""
        done, left = self.compiled - self._begun_with, self._files - self.compiled
        if done < _LEAST_DONE or left <= 0:
            return ""
        minutes = (self._clock() - self._begun_at) * left / done / 60
        return f", about {max(1, round(minutes))} min more"

    def say(self, line: str) -> None:
        """Show a line."""
        self._out.write(f"{line}\n")
        self._out.flush()

    def do(self, what: str) -> None:
        """From now on something else is done than a command."""
        self._spend()
        self._doing = what

    def times(self) -> str:
        """What each stage took, in whole seconds, in their order."""
        self._spend()
        parts = (f"{what} {seconds:.0f} s" for what, seconds in self._seconds.items())
        return f"{', '.join(parts)}; together {sum(self._seconds.values()):.0f} s"

    def failure(self, found: Diagnosis) -> BenchError:
        """The error to raise for a command that failed; shows the lines that tell why."""
        self._log.flush()
        self.say("")
        for line in (*self._around(found.reason), "[…]", *self._last):
            self.say(self._short(line))
        self.say(f"the whole log: {self._path}")
        short = Diagnosis(
            is_builder_fault=found.is_builder_fault, reason=self._source.sub("", found.reason)
        )
        return failure(self._stages, short, own_configuration=self._configuration)

    def close(self) -> None:
        """Finish the log file."""
        self._log.close()

    def _enter(self, stage: Stage) -> None:
        self._spend()
        if stage in _FORECAST:
            self._files = self._about()
            self._begun_at, self._begun_with = self._since, self.compiled
        if self._doing != _name(stage):
            self._doing = _name(stage)
            self.say(f"{self._doing} …")

    def _spend(self) -> None:
        now = self._clock()
        self._seconds[self._doing] += now - self._since
        self._since = now

    def _progress(self, what: str) -> None:
        if self._clock() < self._shown_at + _EVERY_S:
            return
        self._shown_at = self._clock()
        self.say(f"{self._doing}: {what}")

    def _around(self, reason: str) -> list[str]:
        found: list[str] = []
        with self._path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if found or line.strip().startswith(reason):
                    found.append(line.rstrip("\n"))
                if len(found) > _AROUND:
                    break
        return found

    def _short(self, line: str) -> str:
        line = self._source.sub("", line)
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _name(stage: Stage) -> str:
    """Kernel and modules are built side by side, and take their time together."""
    return _TOGETHER.get(stage, str(stage))


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildCommand:
    """A program with its arguments, where it runs, all of its environment, where it begins."""

    words: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stage: Stage


def run(command: BuildCommand, journal: Journal) -> None:
    """Run a command to its end; the journal follows what it prints."""
    log = BuildLog(command.words)
    journal.begin(command.stage)
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of words, no shell
            list(command.words),
            cwd=command.cwd,
            env=dict(command.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise InfraError(
            f"cannot run {command.words[0]}: {error}", hint="see what `bench-build check` says"
        ) from error
    with process:
        for line in process.stdout or ():
            journal.take(line.rstrip("\n"))
            log.take(line.rstrip("\n"))
    if process.returncode != 0:
        raise journal.failure(log.diagnosis(process.returncode))


def version_of(words: Sequence[str]) -> str:
    """The first line that a program prints; empty when it cannot be run."""
    try:
        return next(iter(answer_of(words).stdout.splitlines()), "")
    except InfraError:
        return ""


_COLUMNS = 200


def refusal(
    words: Sequence[str], name: str, *, stdin: int = subprocess.DEVNULL, given: str | None = None
) -> str:
    """Why a command does not work, by the last line that it prints; empty when it does.

    `name` is what it is called where it prints nothing, `given` what it reads.
    """
    try:
        done = answer_of(words, stdin=stdin, given=given)
    except InfraError as error:
        return error.message
    last = (done.stderr.strip().splitlines() or [f"{name} ends with {done.returncode}"])[-1]
    return last[:_COLUMNS] if done.returncode else ""
