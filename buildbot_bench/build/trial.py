"""The trial whether a command of the system works here."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_DEADLINE_S = 60.0
_COLUMNS = 200


def refusal(words: Sequence[str], name: str, *, stdin: int | None = None) -> str:
    """Why a command does not work, by the last line that it prints; empty when it does.

    `name` is what it is called where it prints nothing.
    """
    try:
        done = subprocess.run(  # noqa: S603 - a list of our own making
            words,
            stdin=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_DEADLINE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    last = (done.stderr.strip().splitlines() or [f"{name} ends with {done.returncode}"])[-1]
    return last[:_COLUMNS] if done.returncode else ""
