"""Mails on the farm itself: quarantines, the weekly summary, workloads, hangs, silences."""

from dataclasses import dataclass

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.words import count, percent, size


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlRun:
    """One round of the control image, as the chart has it; `remark` is why it is not good."""

    at_s: float
    values: tuple[float, ...]
    deviation: float | None
    average: float
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantineReport:
    """A testbed that went into quarantine, and all that its owner has to know.

    `shift` is by what fraction the control image was off, None when it gave no value; `since_s`
    when the last good round ended, or the first of all if none was good. `iterations` of `images`
    images have ended since then, and the `searches`, a line each, found something meanwhile: all
    that is in doubt. `limit` and `average_limit` are how far a single round and their moving
    average stray while all is well. `item` is what the testbed measures.
    """

    farm: str
    testbed: str
    workload: str
    label: str
    unit: str
    shift: float | None
    reason: str
    since_s: float
    begun_at: float
    reference: float | None
    limit: float
    average_limit: float
    rounds: int
    runs: tuple[ControlRun, ...]
    iterations: int = 0
    images: int = 0
    searches: tuple[str, ...] = ()
    url: str = ""
    operator: str = ""
    item: ItemUnderTest = ItemUnderTest.KERNEL

    @property
    def subject(self) -> str:
        """The mail's subject: `[bench] apu2 is out of control: r311848 -5.0 % (forwarding)`."""
        what = "no value" if self.shift is None else percent(self.shift)
        return f"[bench] {self.testbed} is out of control: {self.label} {what} ({self.workload})"

    @property
    def summary(self) -> str:
        """What happened."""
        if self.shift is None:
            gives = "no longer gives a value" if self.rounds else "has never given a value"
            return f"The control image {self.label} {gives} on {self.testbed} ({self.workload})."
        than = "less" if self.shift < 0 else "more"
        return (
            f"The control image {self.label} measures {size(self.shift)} {than} than before on "
            f"{self.testbed} ({self.workload}). Its {self.item.built} is unchanged, so the "
            f"{self.item.place} changed."
        )

    @property
    def to_look_at(self) -> str:
        """What the owner looks at first."""
        if self.item is ItemUnderTest.COMMAND:
            return (
                "Find what changed on the machine: other processes, its governor and frequency, "
                "its system's packages, temperature, firmware."
            )
        return (
            "Find what changed in the lab: cables and links, generator, NIC and its firmware, "
            "power supply, temperature, BIOS."
        )

    @property
    def doubts(self) -> str:
        """What is in doubt for the time being."""
        done = f"{count(self.iterations, 'iteration')} of {count(self.images, 'image')}"
        since = "the last good round" if self.rounds else "the first round without a value"
        if not self.iterations:
            return f"Nothing else was measured there since {since}."
        return (
            f"{done} ended there since {since}. The farm keeps and marks them. No verdict and no "
            "search uses them. The farm measures their commits again."
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TestbedWeek:
    """A testbed's week.

    `control` is the control image's label, empty without one; `rounds` of it were good and lay
    within ±`spread`, a fraction, of the level. `quarantines` began in that time; `held` says that
    one lasts. `given_up` requests gave less than they asked for, as the lab or the builders failed;
    `why` is what was said of the last one.
    """

    testbed: str
    iterations: int
    failed: int
    control: str = ""
    rounds: int = 0
    spread: float = 0.0
    last_good_s: float | None = None
    quarantines: int = 0
    held: bool = False
    given_up: int = 0
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeeklyReport:
    """All testbeds' week, from `since_s` to `until_s`; `mails` were sent in it."""

    farm: str
    since_s: float
    until_s: float
    mails: int
    testbeds: tuple[TestbedWeek, ...]
    url: str = ""

    @property
    def subject(self) -> str:
        """The mail's subject: `[bench] alive: 512 iterations, 3 mails; apu2 is in quarantine`."""
        done = count(sum(testbed.iterations for testbed in self.testbeds), "iteration")
        held = [testbed.testbed for testbed in self.testbeds if testbed.held]
        trouble = f"; in quarantine: {', '.join(held)}" if held else ""
        return f"[bench] alive: {done}, {count(self.mails, 'mail')}{trouble}"


def testbed_line(testbed: TestbedWeek) -> str:
    """A testbed's week in one line, but for when the last good round was."""
    failed = f" ({testbed.failed} failed)" if testbed.failed else ""
    line = f"{testbed.testbed}: {count(testbed.iterations, 'iteration')}{failed}; "
    if not testbed.control:
        line += "no control image"
    elif testbed.rounds:
        within = f"within ±{size(testbed.spread)}"
        line += f"control {testbed.control} {within} in {count(testbed.rounds, 'good round')}"
    else:
        line += f"control {testbed.control} had no good round"
    if testbed.quarantines:
        line += f"; {count(testbed.quarantines, 'quarantine')}"
    return f"{line}; in quarantine now" if testbed.held else line


def given_up_line(testbed: TestbedWeek) -> str:
    """What a testbed owes, and why; empty when it owes nothing."""
    if not testbed.given_up:
        return ""
    return f"{count(testbed.given_up, 'request')} given up. The last reason: {testbed.why}"


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
        return f"[bench] {self.workload} is broken on {self.testbed}: {self._alike}"

    @property
    def summary(self) -> str:
        """What is wrong, and how that is known."""
        known = ". They are the two ends of a search"
        if self.stood_well:
            known = ", and the workload measured both of them before"
        broken = f"Workload {self.workload} is broken on testbed {self.testbed}."
        return f"{broken} {self._alike}{known}."

    @property
    def _alike(self) -> str:
        return f"{self.first} and {self.second} fail alike"

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
