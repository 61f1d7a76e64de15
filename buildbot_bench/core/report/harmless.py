"""Reports without what strangers may have written into them: logs, subjects, names."""

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from buildbot_bench.core.legible import LINE_COLUMNS, MESSAGE_COLUMNS, one_line, several_lines
from buildbot_bench.core.links import Links
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.revision import Revision

_NAME_COLUMNS = 40
_COLUMNS = {
    **dict.fromkeys(("farm", "branch", "testbed", "workload", "worker", "unit"), _NAME_COLUMNS),
    **dict.fromkeys(("label", "first", "second", "since", "control"), _NAME_COLUMNS),
    **dict.fromkeys(("author", "fixed_by"), _NAME_COLUMNS),
    **dict.fromkeys(("remark", "what", "also"), 2 * _NAME_COLUMNS),
    **dict.fromkeys(("reason", "trouble", "output", "why", "url"), MESSAGE_COLUMNS),
}
_SEVERAL_LINES = {"console": 4000}  # characters of its end: the panic and its backtrace

_Any = TypeVar("_Any")


def harmless(report: _Any) -> _Any:
    """The same dataclass with each text in it, and in what it holds, made harmless by its name.

    Templates of links are bench.yml's own; a report was made so when it was composed.
    """
    return replace(
        report,  # type: ignore[type-var]
        **{
            one.name: _cleaned(one.name, getattr(report, one.name))
            for one in fields(report)  # type: ignore[arg-type]
        },
    )


def _cleaned(name: str, value: Any) -> Any:
    match value:
        case str() if name in _SEVERAL_LINES:
            return several_lines(value[-_SEVERAL_LINES[name] :])
        case Enum() | Links() | Report():
            return value
        case str():
            return one_line(value, columns=_COLUMNS.get(name, LINE_COLUMNS))
        case Revision():
            return replace(value, subject=one_line(value.subject), author=one_line(value.author))
        case tuple():
            return tuple(_cleaned(name, one) for one in value)
    return harmless(value) if is_dataclass(value) else value
