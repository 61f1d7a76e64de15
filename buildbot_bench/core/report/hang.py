"""What a mail says of a master that hung or crashed and was started again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from buildbot_bench.core.legible import long_line, one_line

_NAME_COLUMNS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class HangReport:
    """A master that ended out of order at `at_s` and runs again since `again_s` (epoch seconds).

    `what` is the verb of the sentence: `did not answer for 60 s`. `file` holds the stacks of its
    threads, below the master's directory.
    """

    farm: str
    what: str
    at_s: float
    again_s: float
    file: str
    url: str = ""

    @property
    def subject(self) -> str:
        """`[bench] netlab: the master did not answer for 60 s, and was started again`."""
        return f"[bench] {self.farm}: the master {self.what}, and was started again"

    @property
    def summary(self) -> str:
        """What happened."""
        return (
            f"The master of the farm {self.farm} {self.what}. It was ended and started again. "
            "No measurement is lost: what the farm had begun goes on."
        )


def harmless_hang(report: HangReport) -> HangReport:
    """The same without what a crash may have written into it."""
    return replace(
        report,
        farm=one_line(report.farm, columns=_NAME_COLUMNS),
        what=one_line(report.what, columns=2 * _NAME_COLUMNS),
        url=long_line(report.url),
    )
