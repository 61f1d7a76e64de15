"""The mail on a workload that is broken on a testbed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.report.words import count

_NAME_COLUMNS = 40
_MOST_SEARCHES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenWorkloadReport:
    """A workload under which two kernels fail alike that cannot both be to blame.

    `first` and `second` are their revisions. `stood_well`: the workload measured both before; else
    they are the two ends of a search. `worked_s` is when it gave a value last, None for never,
    `fails_since_s` when it first gave none, in seconds since the epoch. `output` is the end of what
    the last boot wrote. The `searches`, by number, wait for it.
    """

    farm: str
    testbed: str
    workload: str
    first: str
    second: str
    stood_well: bool
    reason: str
    worked_s: float | None
    fails_since_s: float
    output: str = ""
    searches: tuple[int, ...] = ()
    url: str = ""

    @property
    def subject(self) -> str:
        """`[bench] forwarding is broken on apu2: r311848 and r311852 fail alike`."""
        alike = f"{self.first} and {self.second} fail alike"
        return f"[bench] {self.workload} is broken on {self.testbed}: {alike}"

    @property
    def summary(self) -> str:
        """What is wrong, and how that is known."""
        both = f"{self.first} and {self.second} fail alike"
        if self.stood_well:
            known = f"{both}, and the workload measured both of them before"
        else:
            known = f"{both}. They are the two ends of a search"
        return f"Workload {self.workload} is broken on testbed {self.testbed}. {known}."

    @property
    def consequences(self) -> str:
        """What the farm does meanwhile, and what waits."""
        meanwhile = (
            "The farm blames no commit. It boots a kernel again that worked before, at least once "
            "an hour. What waits goes on when the workload works again."
        )
        return f"{meanwhile} {self._waits}" if self.searches else meanwhile

    @property
    def _waits(self) -> str:
        shown = ", ".join(map(str, self.searches[:_MOST_SEARCHES]))
        more = len(self.searches) - _MOST_SEARCHES
        others = f" and {count(more, 'other')}" if more > 0 else ""
        one = len(self.searches) == 1
        return f"{'Search' if one else 'Searches'} {shown}{others} {'waits' if one else 'wait'}."


def harmless_broken_workload(report: BrokenWorkloadReport) -> BrokenWorkloadReport:
    """The same without what strangers may have written into it: logs, names."""
    return replace(
        report,
        farm=one_line(report.farm, columns=_NAME_COLUMNS),
        testbed=one_line(report.testbed, columns=_NAME_COLUMNS),
        workload=one_line(report.workload, columns=_NAME_COLUMNS),
        first=one_line(report.first, columns=_NAME_COLUMNS),
        second=one_line(report.second, columns=_NAME_COLUMNS),
        reason=one_line(report.reason),
        output=long_line(report.output),
        url=long_line(report.url),
    )
