"""Paths of a command line, refused as argparse refuses what it cannot take."""

from __future__ import annotations

import argparse
from pathlib import Path

from buildbot_bench.core.legible import one_line, quoted


def a_path(text: str) -> Path:
    """Return the path that an argument names, which need not be there."""
    path = Path(text)
    try:
        path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is no path: {one_line(str(error))}"
        ) from None
    return path
