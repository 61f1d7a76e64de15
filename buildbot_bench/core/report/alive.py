"""What a farm says of itself once a week, so that nobody takes a dead one for a quiet one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.report.words import count

_NAME_COLUMNS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class AliveBed:
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
class AliveReport:
    """All testbeds' week, from `since_s` to `until_s`; `mails` were sent in it."""

    farm: str
    since_s: float
    until_s: float
    mails: int
    beds: tuple[AliveBed, ...]
    url: str = ""

    @property
    def subject(self) -> str:
        """The mail's subject: `[bench] alive: 512 iterations, 3 mails; apu2 is in quarantine`."""
        done = count(sum(bed.iterations for bed in self.beds), "iteration")
        held = [bed.testbed for bed in self.beds if bed.held]
        trouble = f"; in quarantine: {', '.join(held)}" if held else ""
        return f"[bench] alive: {done}, {count(self.mails, 'mail')}{trouble}"


def bed_line(bed: AliveBed) -> str:
    """A testbed's week in one line, but for when the last good round was."""
    failed = f" ({bed.failed} failed)" if bed.failed else ""
    line = f"{bed.testbed}: {count(bed.iterations, 'iteration')}{failed}; "
    if not bed.control:
        line += "no control image"
    elif bed.rounds:
        within = f"{100 * bed.spread:.1f}%"
        line += f"control {bed.control} within ±{within} in {count(bed.rounds, 'good round')}"
    else:
        line += f"control {bed.control} had no good round"
    if bed.quarantines:
        line += f"; {count(bed.quarantines, 'quarantine')}"
    return f"{line}; in quarantine now" if bed.held else line


def given_up_line(bed: AliveBed) -> str:
    """What a testbed owes, and why; empty when it owes nothing."""
    if not bed.given_up:
        return ""
    return f"{count(bed.given_up, 'request')} given up, the last one: {bed.why}"


def harmless_alive(report: AliveReport) -> AliveReport:
    """The same without what strangers may have written into it."""
    return replace(
        report,
        farm=one_line(report.farm, columns=_NAME_COLUMNS),
        url=long_line(report.url),
        beds=tuple(
            replace(
                bed,
                testbed=one_line(bed.testbed, columns=_NAME_COLUMNS),
                control=one_line(bed.control, columns=_NAME_COLUMNS),
                why=long_line(bed.why),
            )
            for bed in report.beds
        ),
    )
