"""Mails on the farm itself: a testbed in quarantine, and the weekly summary."""

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
