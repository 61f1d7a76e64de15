"""The run of one build command with its output and cause of failure, and trials of commands."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build.journal import Journal
from buildbot_bench.core.build_log import BuildLog, Stage
from buildbot_bench.core.errors import InfraError
from buildbot_bench.programs import answer_of


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
