"""The mails to a farm's operators: a broken workload, a silent testbed, a master that hung."""

from dataclasses import dataclass

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.words import count

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


_HOUR_S = 3600.0


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
