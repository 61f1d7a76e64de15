"""Mails on a branch that stopped building or booting, and on the end of an incident."""

import re
from dataclasses import dataclass
from typing import Literal

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.links import NO_LINKS, Links
from buildbot_bench.core.report.words import count, size, tag
from buildbot_bench.core.revision import Revision

_SUBJECT_COLUMNS = 60  # of the reason: with the rest, a subject stays on two lines of a list
_MOST_SUSPECTS = 20
_NO_DIFFERENCE = 0.0005  # a fraction: it would be written as 0.0 %


# How FreeBSD, and the embedded kernel, begin their last words.
_PANIC = re.compile(r"(?:panic|Fatal trap \d+): ?[^\n]+")


def panic_in(console: str) -> str:
    """The first line of a console that says why a kernel ended; empty where none does."""
    found = _PANIC.search(console)
    return found[0].strip() if found else ""


def fails_under_traffic(reason: str) -> bool:
    """Whether a kernel boots and does not pass traffic, by the words that all drivers use."""
    return "traffic" in reason


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedRevision:
    """One revision that the search tried, or knew: what became of it and how often."""

    label: str
    outcome: str
    tries: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakageReport:
    """A branch that does not build or boot any more, and since when.

    `testbed` is empty of a build, which is of all testbeds. `works` is the last revision that does;
    `suspects` are the commits after it up to `broken`, the first that does not: one is the culprit,
    several are what could not be tried between. `again` is the label of an older revision that was
    broken, too: the branch was fixed since. `console` is the end of the DUT's, may be empty.
    With `builds` it is the building that fails. `also` names other series that it broke. `item` is
    what the testbed measures.

    `branch` is empty where the farm watches but one. `links` are the repository's pages, `reviews`
    those that the message of a single suspect names.

    Without `proved` the search ended before it separated a culprit, for the reason in `detail`;
    `works`, `broken` and `suspects` are then what its trials tell.
    """

    version: Literal[1] = 1
    kind: Literal["breakage"] = "breakage"
    farm: str
    search_id: int
    builds: bool
    testbed: str
    workload: str
    works: Revision
    broken: Revision
    suspects: tuple[Revision, ...]
    reason: str
    tried: tuple[TriedRevision, ...]
    again: str = ""
    also: tuple[str, ...] = ()
    proved: bool = True
    detail: str = ""
    console: str = ""
    url: str = ""
    operator: str = ""
    branch: str = ""
    item: ItemUnderTest = ItemUnderTest.KERNEL
    links: Links = NO_LINKS
    reviews: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """What the branch does not do any more."""
        if self.builds:
            return "build"
        if self.item is ItemUnderTest.COMMAND:
            return f"run {self.workload} on {self.testbed}"
        if fails_under_traffic(self.reason):
            return f"pass {self.workload} on {self.testbed}"
        return f"boot on {self.testbed}"

    @property
    def console_of(self) -> str:
        """What `console` is the end of."""
        return "its output" if self.item is ItemUnderTest.COMMAND else "the console"

    @property
    def since(self) -> str:
        """The commit, or the stretch, since which it does not."""
        first, last = self.suspects[0].label, self.suspects[-1].label
        return last if first == last else f"{first}..{last}"

    @property
    def subject(self) -> str:
        """The mail's subject: `[bench] does not boot on apu2 since r311860: panic: ...`."""
        why = panic_in(self.console) or self.reason
        reason = one_line(why, columns=_SUBJECT_COLUMNS)
        told = f": {reason}" if reason else ""
        if not self.proved:
            told = f", culprit not separated{told}"
        return f"{tag(self.branch)}does not {self.verb} since {self.since}{told}"

    @property
    def summary(self) -> str:
        """What happened, in two sentences."""
        if self.builds:
            broke = "A build fails"
        elif self.item is ItemUnderTest.COMMAND:
            broke = f"A run of {self.workload} on {self.testbed} fails"
        elif fails_under_traffic(self.reason):
            broke = f"Traffic on {self.testbed} fails with {self.workload}"
        else:
            broke = f"A boot on {self.testbed} fails with {self.workload}"
        if self.branch:
            broke = f"On {self.branch} {broke[0].lower()}{broke[1:]}"
        if not self.proved:
            return (
                f"{broke} since {self.since}. {self.works.label} is the last that worked. "
                f"{self.broken.label} is the first that fails. The search did not separate the "
                f"culprit: {self.detail}."
            )
        if len(self.suspects) == 1:
            who = f"{self.broken.label} broke it"
        else:
            who = f"One of {count(len(self.suspects), 'commit')} broke it. No other can be tried"
        return f"{broke} since {self.since}. {self.works.label} works. {who}."

    @property
    def wider(self) -> str:
        """What else the same commit broke; empty when it was nothing."""
        return f"It also broke {' and '.join(self.also)}." if self.also else ""

    @property
    def closing(self) -> str:
        """Whether there will be another mail."""
        if self.proved:
            return "When the branch works again, you get one more mail in this thread."
        return "You get no mail when the branch works again: no commit was found."

    @property
    def history(self) -> str:
        """What a reader should know of an older breakage; empty when there was none."""
        if not self.again:
            return ""
        return (
            f"{self.again} was also broken, and {self.works.label} works. This is a new breakage."
        )

    @property
    def listed(self) -> tuple[Revision, ...]:
        """As many suspects as a mail has room for, the newest."""
        return self.suspects[-_MOST_SUSPECTS:]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecoveryReport:
    """The end of an incident: it lies in (old, new].

    `kind` is that of the search, `traffic` where kernels booted and passed none, or `run` where a
    command failed. `since` is the label of the culprit, `found` the subject of the mail that
    reported it. `difference` is by what fraction the level differs from that before the incident,
    None for a breakage. `branch` is empty where the farm watches but one. `links` are the
    repository's pages.
    """

    farm: str
    search_id: int
    kind: str
    testbed: str
    workload: str
    old: Revision
    new: Revision
    since: str
    found: str
    difference: float | None = None
    url: str = ""
    branch: str = ""
    links: Links = NO_LINKS

    @property
    def ended(self) -> str:
        """The commit with which it ended, or the stretch (old, new] that the commit lies in."""
        apart = self.new.position - self.old.position
        return self.new.label if apart == 1 else f"({self.old.label}, {self.new.label}]"

    @property
    def clause(self) -> str:
        """What works again, without a subject or a full stop."""
        match self.kind:
            case "build":
                return f"builds again since {self.ended}"
            case "boot":
                return f"boots on {self.testbed} again since {self.ended}"
            case "run":
                return f"runs {self.workload} on {self.testbed} again since {self.ended}"
            case "traffic":
                return f"passes {self.workload} on {self.testbed} again since {self.ended}"
        return f"{self.workload} on {self.testbed} is back at its level since {self.ended}"

    @property
    def subject(self) -> str:
        """The mail's subject: `[bench] forwarding on apu2 is back at its level since r312904`."""
        return f"{tag(self.branch)}{self.clause}"

    @property
    def summary(self) -> str:
        """What ended, and how near the level is to what it was."""
        if self.kind == "effect":
            subject = f"On {self.branch} " if self.branch else ""
        else:
            subject = f"The branch {self.branch} " if self.branch else "The branch "
        begin = f"{subject}{self.clause}. The incident of {self.since} is over."
        if self.difference is None:
            return begin
        if abs(self.difference) < _NO_DIFFERENCE:
            return f"{begin} The level is the same as before."
        than = "more" if self.difference > 0 else "less"
        return f"{begin} It measures {size(self.difference)} {than} than before that commit."
