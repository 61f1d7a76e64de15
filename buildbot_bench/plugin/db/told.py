"""Log entries for changes of a row's state."""

from __future__ import annotations

from typing import Any

from twisted.logger import Logger

from buildbot_bench.core.legible import one_line
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.finding_rows import JudgementRow, NoticeRow, ReportRow, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, ProfileRow

_LOG = Logger()
_KINDS: dict[type, str] = {
    AbTestRow: "comparison",
    ImageRow: "image",
    JudgementRow: "judgement",
    NoticeRow: "notice",
    ProbeRow: "probe",
    ProfileRow: "capture",
    ReportRow: "mail",
    SearchRow: "search",
}
# What a row is about, in the words of the log, by its column.
_ABOUT = {
    "search_id": "search",
    "ab_test_id": "comparison",
    "image_id": "image",
    "label": "revision",
    "testbed": "testbed",
    "workload": "workload",
}
# Why it is in that state, in the column that its kind of row has.
_WHY = ("failure", "detail", "last_error", "reason")


def tell(old: Any, new: Any) -> None:
    """Log the new state of a row that has states, with the numbers of what it is about.

    `new` is None where the row was not changed.
    """
    kind = _KINDS.get(type(new))
    if kind is None or new.state == old.state:
        return
    about = {name: getattr(new, column, None) for column, name in _ABOUT.items()}
    why = next((found for name in _WHY if (found := getattr(new, name, None))), "")
    _LOG.info(
        "bench: {kind} {number} is {state}",
        **{name: value for name, value in about.items() if value is not None} | {kind: new.id},
        kind=kind,
        number=new.id,
        state=str(new.state),
        because=one_line(str(why)),
    )
