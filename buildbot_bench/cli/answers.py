"""The farm's answers, read as what they are to be, and comparisons in words and files."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from buildbot_bench.api.answers import ComparisonShown, ResultFile
from buildbot_bench.cli.wording import begun, table_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import count
from buildbot_bench.core.json_reader import UnreadableError, from_json
from buildbot_bench.core.legible import csv_text, long_line, one_line, quoted

Answer = TypeVar("Answer")


def understood(kind: type[Answer], raw: Mapping[str, Any], what: str) -> Answer:
    """Read an answer about `what`; raises InfraError for one of another shape."""
    try:
        return from_json(kind, raw)
    except UnreadableError as error:
        raise not_understood(what, error) from error


def not_understood(what: str, error: Exception) -> InfraError:
    """The complaint about an answer of another shape."""
    return InfraError(
        f"the farm's answer about a {what} is not understood: {long_line(str(error))}",
        hint="install the release of buildbot-bench that the farm runs",
    )


_COLUMNS = ("testbed", "workload", "metric", "unit", "variant", "number", "value")
_PATH = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}(?:/(?!\.)[A-Za-z0-9._-]{1,200}){0,2}", re.ASCII)


def read_files(rows: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """The files of a result directory by their paths, none of which leads out of it."""
    files = [understood(ResultFile, row, "result directory") for row in rows]
    for one in files:
        if not _PATH.fullmatch(one.path):
            raise InfraError(f"the farm names a file {quoted(one.path)}: not written")
    return {one.path: one.content for one in files}


def progress_line(comparison: ComparisonShown) -> str:
    """`12:03:41  7 of 30 boots  measuring r317849: forwarding on apu2`."""
    clock = time.strftime("%H:%M:%S")
    done = f"{comparison.boots_done} of {count(comparison.boots, comparison.nouns.iteration)}"
    return f"{clock}  {done}  {comparison.now}".rstrip()


def approval_text(comparison: ComparisonShown) -> str:
    """The patches that await approval, whole: a person who approves them has them run."""
    parts = [f"{comparison.requester} asks to build and run:"]
    parts += [f"--- {patch.origin} ---\n{patch.text.rstrip()}" for patch in comparison.patches]
    return "\n\n".join(parts)


def comparison_outcome(comparison: ComparisonShown) -> str:
    """One line for a comparison that has nothing longer to say."""
    detail = f": {comparison.now}" if comparison.now else ""
    return f"comparison {comparison.comparisonid} {comparison.state}{detail}"


def comparisons_text(comparisons: Sequence[ComparisonShown]) -> str:
    """A list of comparisons as a table with a heading."""
    called = {comparison.nouns.iteration for comparison in comparisons}
    done = f"{called.pop()}s" if len(called) == 1 else "measured"
    rows = [
        (
            str(comparison.comparisonid),
            str(comparison.state),
            begun(comparison.created_at),
            comparison.title,
            f"{comparison.boots_done}/{comparison.boots}",
            comparison.requester,
            comparison.outcome,
        )
        for comparison in comparisons
    ]
    headings = ("ID", "STATE", "BEGUN", "VARIANTS", done.upper(), "BY", "OUTCOME")
    return table_text(headings, rows, "comparisons")


def comparison_csv(report: Mapping[str, Any]) -> str:
    """Return the values of a comparison's report, one a line, in the order measured of each."""
    try:
        rows = [
            (
                *(one_line(str(series[name])) for name in ("testbed", "workload")),
                *(one_line(str(series["metric"][name])) for name in ("name", "unit")),
                one_line(str(variant["label"])),
                number,
                float(value),
            )
            for series in report["series"]
            for variant, side in zip(report["variants"], series["samples"], strict=True)
            for number, value in enumerate(side["values"], start=1)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise not_understood("comparison", error) from error
    return csv_text(_COLUMNS, rows)
