"""The farm's answers on a comparison, parsed, made harmless and put into words."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from buildbot_bench.cli.answers import iteration_of, understood
from buildbot_bench.cli.wording import table_text
from buildbot_bench.core.csv_text import csv_text
from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.figures import count
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import long_line, one_line, quoted, several_lines

_COLUMNS = ("testbed", "workload", "metric", "unit", "variant", "number", "value")
_OTHER_RELEASE = "install the release of buildbot-bench that the farm runs"
_PATH = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}(?:/(?!\.)[A-Za-z0-9._-]{1,200}){0,2}", re.ASCII)


class RemoteComparisonState(StrEnum):
    """Where a comparison stands; all but the first three are final."""

    AWAITING = "awaiting approval"
    RUNNING = "running"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    DONE = "done"
    UNTESTABLE = "untestable"
    FAILED = "failed"


_UNDER_WAY = frozenset(
    {
        RemoteComparisonState.AWAITING,
        RemoteComparisonState.RUNNING,
        RemoteComparisonState.CANCELLING,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldPatch:
    """A patch that somebody has to approve, and where it is from."""

    origin: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteComparison:
    """A comparison as it stands; `text`, `markdown` and `report` are there when it has ended.

    `outcome` is what it came to, in one line, empty until then. `patches` are those that await
    approval. `iteration` is what one measurement is called: a boot, a run.
    """

    comparison_id: int
    state: RemoteComparisonState
    title: str
    boots_done: int
    boots: int
    now: str
    created_at_s: float
    requester: str
    text: str | None
    markdown: str | None
    report: Mapping[str, Any] | None
    patches: tuple[HeldPatch, ...] = ()
    outcome: str = ""
    iteration: str = ItemUnderTest.KERNEL.iteration

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in _UNDER_WAY


def read_comparison(raw: Mapping[str, Any]) -> RemoteComparison:
    """Read one comparison; InfraError when it is none."""
    with understood("comparison"):
        return RemoteComparison(
            comparison_id=int(raw["comparisonid"]),
            state=RemoteComparisonState(raw["state"]),
            title=long_line(raw["title"]),
            boots_done=int(raw["boots_done"]),
            boots=int(raw["boots"]),
            now=long_line(raw.get("now") or ""),
            created_at_s=float(raw["created_at"]),
            requester=long_line(raw.get("requester") or ""),
            text=_cleaned(raw.get("text")),
            markdown=_cleaned(raw.get("markdown")),
            report=raw.get("report"),
            patches=tuple(
                HeldPatch(origin=long_line(one["origin"]), text=several_lines(one["text"]))
                for one in raw.get("patches") or ()
            ),
            outcome=long_line(raw.get("outcome") or ""),
            iteration=iteration_of(raw),
        )


def read_files(rows: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """The files of a result directory by their paths, none of which leads out of it."""
    with understood("result directory"):
        files = {str(row["path"]): _content(row) for row in rows}
    for path in files:
        if not _PATH.fullmatch(path):
            raise InfraError(f"the farm names a file {quoted(path)}: not written")
    return files


def _content(row: Mapping[str, Any]) -> bytes:
    if "base64" in row:
        return base64.b64decode(row["base64"], validate=True)
    return str(row["text"]).encode("utf-8", "replace")


def progress_line(comparison: RemoteComparison) -> str:
    """`12:03:41  7 of 30 boots  measuring r317849: forwarding on apu2`."""
    clock = time.strftime("%H:%M:%S")
    done = f"{comparison.boots_done} of {count(comparison.boots, comparison.iteration)}"
    return f"{clock}  {done}  {comparison.now}".rstrip()


def approval_text(comparison: RemoteComparison) -> str:
    """The patches that await approval, whole: a person who approves them has them run."""
    parts = [f"{comparison.requester} asks to build and run:"]
    parts += [f"--- {patch.origin} ---\n{patch.text.rstrip()}" for patch in comparison.patches]
    return "\n\n".join(parts)


def comparison_outcome(comparison: RemoteComparison) -> str:
    """One line for a comparison that has nothing longer to say."""
    detail = f": {comparison.now}" if comparison.now else ""
    return f"comparison {comparison.comparison_id} {comparison.state}{detail}"


def comparisons_text(comparisons: Sequence[RemoteComparison]) -> str:
    """A list of comparisons as a table with a heading."""
    if not comparisons:
        return "no comparisons yet"
    called = {comparison.iteration for comparison in comparisons}
    done = f"{called.pop()}s" if len(called) == 1 else "measured"
    rows = [("ID", "STATE", "BEGUN", "VARIANTS", done.upper(), "BY", "OUTCOME")]
    rows += [
        (
            str(comparison.comparison_id),
            str(comparison.state),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(comparison.created_at_s)),
            comparison.title,
            f"{comparison.boots_done}/{comparison.boots}",
            comparison.requester,
            comparison.outcome,
        )
        for comparison in comparisons
    ]
    return table_text(rows)


def _cleaned(value: Any) -> str | None:
    return None if value is None else several_lines(value)


def comparison_csv(report: Mapping[str, Any]) -> str:
    """Return the values of a comparison's report, one a line, in the order measured of each.

    Raises InfraError: the report has another shape.
    """
    with understood("comparison"):
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
    return csv_text(_COLUMNS, rows)
