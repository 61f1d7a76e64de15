"""The mail on a testbed that ends no boot while requests wait."""

from __future__ import annotations

from dataclasses import dataclass, replace

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.report.words import count

_HOUR_S = 3600.0
_NAME_COLUMNS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class SilenceReport:
    """A testbed on which no boot ended for a day while requests waited; times since the epoch.

    `last_boot_s` is None when none ever ended. The oldest of the `waiting` requests was made at
    `oldest_s`. `connected` says whether its `worker` is; `trouble` is what the newest request that
    gave nothing left, "" for none. `item` is what the testbed measures.
    """

    farm: str
    testbed: str
    worker: str
    connected: bool
    now_s: float
    last_boot_s: float | None
    waiting: int
    oldest_s: float
    trouble: str = ""
    url: str = ""
    item: ItemUnderTest = ItemUnderTest.KERNEL

    @property
    def subject(self) -> str:
        """`[bench] apu2 has measured nothing for 26 hours; 12 requests wait`."""
        return f"[bench] {self._silence}; {self._waiting}"

    @property
    def summary(self) -> str:
        """What is wrong."""
        return (
            f"{self._silence}. {self._waiting}, the oldest for "
            f"{_hours(self.now_s - self.oldest_s)}."
        )

    @property
    def _silence(self) -> str:
        if self.last_boot_s is None:
            return f"{self.testbed} never measured anything"
        return f"{self.testbed} has measured nothing for {_hours(self.now_s - self.last_boot_s)}"

    @property
    def _waiting(self) -> str:
        return f"{count(self.waiting, 'request')} {'waits' if self.waiting == 1 else 'wait'}"

    @property
    def worker_line(self) -> str:
        """Whether the lab worker is there, and what to do about it."""
        if self.connected:
            return (
                f"Its worker {self.worker} is connected. Check the {self.item.place} and the "
                "builds."
            )
        return (
            f"Its worker {self.worker} is not connected. Start it. If it does not connect, read "
            "its twistd.log."
        )


def _hours(seconds: float) -> str:
    return count(int(seconds // _HOUR_S), "hour")


def harmless_silence(report: SilenceReport) -> SilenceReport:
    """The same without what strangers may have written into it: logs, names."""
    return replace(
        report,
        farm=one_line(report.farm, columns=_NAME_COLUMNS),
        testbed=one_line(report.testbed, columns=_NAME_COLUMNS),
        worker=one_line(report.worker, columns=_NAME_COLUMNS),
        trouble=long_line(report.trouble),
        url=long_line(report.url),
    )
