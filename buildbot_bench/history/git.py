"""The run of the git command on a bare mirror."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, cast

from buildbot_bench.core.errors import InfraError

_LONGEST_COMPLAINT = 64 * 1024
# rev-list would write each hash by itself.
_UNHURRIED = MappingProxyType({"GIT_FLUSH": "0"})


def run_git(
    mirror: Path,
    verb: str,
    *arguments: str,
    timeout_s: float,
    stdin: bytes = b"",
    more: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """What `git --git-dir=MIRROR VERB ARGUMENTS` prints.

    `more` is added to its environment. Its whole process group is ended after `timeout_s`. It never
    asks for a password.
    """
    with started(mirror, (verb, *arguments), stdin=subprocess.PIPE, more=more) as process:
        try:
            output, complaint = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise InfraError(f"git {verb} took more than {timeout_s:g} s") from error
    if process.returncode:
        raise InfraError(_failure(verb, process.returncode, complaint))
    return output


@contextmanager
def streaming_git(
    mirror: Path,
    verb: str,
    *arguments: str,
    timeout_s: float,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> Iterator[IO[bytes]]:
    """What git prints, as it prints it; one that has more to say than is read is ended."""
    with (
        tempfile.TemporaryFile() as complaint,
        started(
            mirror, (verb, *arguments), stdin=stdin, stderr=complaint, more=_UNHURRIED
        ) as process,
    ):
        late = threading.Event()

        def end() -> None:
            late.set()
            kill(process)

        timer = threading.Timer(timeout_s, end)
        timer.daemon = True
        timer.start()
        try:
            with cast("IO[bytes]", process.stdout) as output:
                yield output
            process.wait()
        finally:
            timer.cancel()
        if late.is_set():
            raise InfraError(f"git {verb} took more than {timeout_s:g} s")
        if process.returncode not in {0, -signal.SIGPIPE}:
            complaint.seek(0)
            said = complaint.read(_LONGEST_COMPLAINT)
            raise InfraError(_failure(verb, process.returncode, said))


@contextmanager
def started(
    mirror: Path,
    command: Sequence[str],
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.PIPE,
    stderr: IO[bytes] | int = subprocess.PIPE,
    inherit: Sequence[int] = (),
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[subprocess.Popen[bytes]]:
    """A git that runs; no exception leaves it behind, nor the helpers that it started."""
    try:
        process = subprocess.Popen(  # noqa: S603 - a list, and nobody's text is an option in it
            ["git", f"--git-dir={mirror}", *command],  # noqa: S607 - the one that is on the PATH
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**_environment(), **more},
            pass_fds=inherit,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise InfraError("there is no git command", hint="install git on the master") from error
    with process:
        try:
            yield process
        except BaseException:
            kill(process)
            raise


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a git and the helpers that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    return {
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _failure(verb: str, status: int, complaint: bytes) -> str:
    reason = complaint.decode(errors="replace").strip() or f"exit {status}"
    return f"git {verb}: {reason}"
