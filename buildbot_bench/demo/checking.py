"""`bench-farm check`: report all mistakes of a bench.yml at once."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from buildbot_bench.cli.option_values import a_path
from buildbot_bench.core.errors import UsageError

if TYPE_CHECKING:
    from buildbot_bench.workflow.model import Workflow

_RIGHT, _USAGE = 0, 2
_MISTAKE = re.compile(r"(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)")


def add_check(commands: Any) -> None:
    """Add the subcommand to those of bench-farm, which `argparse` made."""
    check = commands.add_parser(
        "check",
        help="say all that is wrong with a bench.yml",
        description="Read a workflow and list all its mistakes, each with its"
        " file, line and column.",
        epilog="exit status: 0 nothing is wrong · 2 something is",
    )
    check.add_argument(
        "file", nargs="?", type=a_path, default=Path("bench.yml"), help="default: %(default)s"
    )
    check.add_argument("--json", action="store_true", help="one JSON object")
    check.set_defaults(command=_check)


def mistakes_of(file: Path) -> list[str]:
    """All that is wrong with a workflow, a line each."""
    from buildbot_bench.workflow.load import load  # noqa: PLC0415 - not for --help

    try:
        load(file)
    except UsageError as problem:
        return str(problem).splitlines()
    return []


def tell(mistakes: Iterable[str]) -> int:
    """Print mistakes; returns the exit status for them."""
    print("\n".join(mistakes), file=sys.stderr)
    return _USAGE


def _check(options: argparse.Namespace) -> int:
    from buildbot_bench.workflow.load import load  # noqa: PLC0415 - not for --help

    mistakes = mistakes_of(options.file)
    summary = "" if mistakes else summary_of(load(options.file))
    if options.json:
        print(json.dumps({"summary": summary, "mistakes": [*map(_as_json, mistakes)]}))
        return _USAGE if mistakes else _RIGHT
    if mistakes:
        return tell(mistakes)
    print(f"{options.file}: {summary}")
    return _RIGHT


def _as_json(line: str) -> dict[str, str | int | None]:
    match = _MISTAKE.fullmatch(line)
    if match is None:
        return {"file": None, "line": None, "column": None, "message": line}
    return {
        "file": match["file"],
        "line": int(match["line"]),
        "column": int(match["column"]),
        "message": match["message"],
    }


def summary_of(workflow: Workflow) -> str:
    """What a workflow watches, builds and measures, in one line."""
    measured = [
        f"{', '.join(job.workloads_of({word}))} on {word}"
        for job in workflow.bench_jobs
        for word in job.words
    ]
    return f"{_watched(workflow)}; {_built(workflow)}; measures {'; '.join(measured)}"


def _watched(workflow: Workflow) -> str:
    on = workflow.on
    parts = []
    if on.push is not None:
        watched = [
            f"{', '.join(x.push.branches)} of {x.name or x.written}" for x in workflow.watches
        ]
        parts.append(f"watches {' and '.join(watched)}")
    if on.schedule:
        times = ", ".join(
            f"{one.branch or workflow.branches[0]} at {one.cron}" for one in on.schedule
        )
        parts.append(f"measures {times} UTC")
    names = ", ".join(one.name or one.written for one in workflow.watches)
    return ", ".join(parts) or f"watches nothing of {names}: people ask"


def _built(workflow: Workflow) -> str:
    builds = []
    for job in workflow.build_jobs:
        built = [one.name for one in workflow.watches if workflow.build_job_of(one.key) == job]
        what = f" {', '.join(built)}" if any(built) else ""
        builds.append(f"{job.name} builds{what} on {' or '.join(job.runs_on)}")
    return "; ".join(builds)
