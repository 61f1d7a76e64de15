"""Runs the git command and fetches a bare mirror with it; it knows no revision."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from buildbot_bench.core.errors import InfraError

REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/notes/*:refs/notes/*")

# What a fetch sets: no detached gc (it would outlive the lock), no pruned objects (a commit that
# was measured stays readable after a forced push), and an end to a connection that stands still.
_FETCH_CONFIG = (
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "gc.pruneExpire=never",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=120",
)
_STALE_LOCKS = ("*.lock", "refs/**/*.lock", "objects/info/**/*.lock")
_LOCK_POLL_S = 0.1


def run_git(
    mirror: Path,
    verb: str,
    *arguments: str,
    timeout_s: float,
    config: Sequence[str] = (),
    stdin: bytes = b"",
    inherit: Sequence[int] = (),
    more: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """What `git --git-dir=MIRROR VERB ARGUMENTS` prints; InfraError when it fails.

    `more` is added to its environment. Its whole process group is ended after `timeout_s`. It never
    asks for a password.
    """
    settings = (argument for setting in config for argument in ("-c", setting))
    command = ["git", f"--git-dir={mirror}", *settings, verb, *arguments]
    try:
        process = subprocess.Popen(  # noqa: S603 - a list, and nobody's text is an option in it
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**_environment(), **more},
            pass_fds=inherit,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise InfraError("there is no git command", hint="install git on the master") from error
    with process, _killed_on_error(process):
        try:
            output, complaint = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise InfraError(f"git {verb} took more than {timeout_s:g} s") from error
    if process.returncode:
        reason = complaint.decode(errors="replace").strip() or f"exit {process.returncode}"
        raise InfraError(f"git {verb}: {reason}")
    return output


def _environment() -> dict[str, str]:
    return {
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


@contextmanager
def _killed_on_error(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave no git behind, nor the helpers that it started, when an exception passes."""
    try:
        yield
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise


def fetch(mirror: Path, url: str, *, timeout_s: float) -> None:
    """Bring a bare mirror up to date with all heads, tags and notes of a URL; made if need be.

    Whoever is killed amid it leaves some refs new and some old, and perhaps locks: the next fetch
    completes the ones and removes the others. Raises InfraError.
    """
    mirror.mkdir(parents=True, exist_ok=True)
    with _sole_fetch(mirror, timeout_s) as lock:
        for pattern in _STALE_LOCKS:
            for stale in mirror.glob(pattern):
                stale.unlink()
        run_git(mirror, "init", "--quiet", "--bare", timeout_s=timeout_s)  # mends a half-made one
        run_git(
            mirror,
            *("fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head"),
            *("--", url, *REFSPECS),
            config=_FETCH_CONFIG,
            inherit=(lock,),
            timeout_s=timeout_s,
        )


@contextmanager
def _sole_fetch(mirror: Path, timeout_s: float) -> Iterator[int]:
    """Hold the mirror's lock.

    git inherits it: should we be killed, then our git, which lives on, holds it until it ends, so
    that nobody takes the locks of a living git for stale ones.
    """
    deadline = time.monotonic() + timeout_s
    with (mirror / "bench-fetch").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise InfraError(
                        f"another fetch holds {mirror} for more than {timeout_s:g} s"
                    ) from None
                time.sleep(_LOCK_POLL_S)
        yield file.fileno()
