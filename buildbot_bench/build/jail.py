"""The run of a build's script in a FreeBSD jail, without network.

Only root makes jails: workers/jail/bench-jail does, and doas(1) lets the builder's user run it. The
script sees the system's files with that user's rights.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from buildbot_bench.build.trial import refusal

HELPER = "bench-jail"
_PLACES = ("/usr/local/libexec", "/usr/local/bin")


def jail_command(directory: Path, words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """What runs the words in a directory, in a jail, with this environment and no other.

    The environment stands on the command line, which other users of the machine see.
    """
    named = [f"{name}={value}" for name, value in env.items()]
    helper = _found() or HELPER
    return ["doas", "-n", helper, str(directory), "/usr/bin/env", "-i", *named, *words]


def jail_refusal() -> str:
    """Why no jail can be made; empty when one can."""
    if _found() is None:
        return f"there is no {HELPER} on the PATH or in {_PLACES[0]}"
    with _held_open() as stdin:
        tried = jail_command(Path("/"), ["true"], {"PATH": os.defpath})
        return refusal(tried, HELPER, stdin=stdin)


def run_in_jail(directory: Path, words: Sequence[str], env: Mapping[str, str]) -> int:
    """Run the words, and wait; the exit status, 128 more than the signal that ended them."""
    with _held_open() as stdin:
        command = jail_command(directory, words, env)
        status = subprocess.run(command, stdin=stdin, check=False).returncode  # noqa: S603 - words
    return status if status >= 0 else 128 - status


@contextmanager
def _held_open() -> Iterator[int]:
    """A pipe's end at which nothing arrives. It closes when we end, however; so does the jail."""
    end, ours = os.pipe()
    try:
        yield end
    finally:
        os.close(end)
        os.close(ours)


def _found() -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_PLACES])
    return shutil.which(HELPER, path=path)
