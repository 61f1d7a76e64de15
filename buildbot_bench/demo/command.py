"""Starts what bench-farm is asked for; a bench.yml is read before all that a farm consists of.

That takes two seconds to import, which nobody should wait for to hear of a mistake.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from buildbot_bench.demo import checking


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    if given[:1] in (["check"], ["--version"]):
        return checking.main(given)
    workflow = _workflow_to_run(given)
    if workflow is not None and (mistakes := checking.mistakes_of(workflow)):
        return checking.tell(mistakes)
    status: int = import_module("buildbot_bench.demo.cli").main(given)
    return status


def _workflow_to_run(given: Sequence[str]) -> Path | None:
    if given[:1] != ["run"]:
        return None
    parser = argparse.ArgumentParser(prog="bench-farm run", add_help=False)
    parser.add_argument("--workflow", type=Path)
    options, _ = parser.parse_known_args(given[1:])
    found: Path | None = options.workflow
    return found
