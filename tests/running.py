"""Programs that tests run to their end, with what they print as text."""

import subprocess
from collections.abc import Sequence
from os import PathLike
from typing import Any


def ran(
    command: Sequence[str | PathLike[str]], *, check: bool = False, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Return how a program ended; another status than 0 fails the test only with `check`."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **more)
