"""Runs a build's command, shows what it prints, and says why it failed; knows no recipe."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from buildbot_bench.core.build_log import BuildLog
from buildbot_bench.core.errors import InfraError, UntestableRevision


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A program with its arguments, where it runs, and what is added to its environment."""

    words: Sequence[str]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)


def run(command: Command) -> None:
    """Run a command to its end; what it prints goes to standard output as it comes.

    Raises UntestableRevision with the first error line, or InfraError when the builder is ill.
    """
    log = BuildLog(command.words)
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of words, no shell
            list(command.words),
            cwd=command.cwd,
            env={**os.environ, **command.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise InfraError(f"cannot run {command.words[0]}: {error}") from error
    with process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            log.take(line.rstrip("\n"))
        sys.stdout.flush()
    if process.returncode != 0:
        found = log.diagnosis(process.returncode)
        raise (InfraError if found.builder_is_ill else UntestableRevision)(found.reason)


def told(words: Sequence[str]) -> str:
    """The first line that a program prints; empty when it cannot be run."""
    try:
        done = subprocess.run(  # noqa: S603 - a list of words, no shell
            list(words), capture_output=True, text=True, errors="replace", check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next(iter(done.stdout.splitlines()), "")
