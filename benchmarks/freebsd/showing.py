"""Commands of `make test-freebsd`, whose output is shown while they run."""

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO


def say(text: str) -> None:
    """Print a line at once, no matter where it goes."""
    print(text, flush=True)


def run_shown(
    words: Sequence[str], *, out: IO[str] | None = None, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a command and show what it says; return its status, and what it said.

    With `out`, its output goes there, and its messages alone are shown and returned.
    """
    with subprocess.Popen(  # noqa: S603 - a list of words, no shell
        words,
        stdout=subprocess.PIPE if out is None else out,
        stderr=subprocess.STDOUT if out is None else subprocess.PIPE,
        text=True,
        errors="replace",
        env=env,
    ) as process:
        said = []
        for line in process.stdout or process.stderr or ():
            say(f"     {line.rstrip()}")
            said.append(line)
    return process.returncode, "".join(said)
