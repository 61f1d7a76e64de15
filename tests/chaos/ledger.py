"""The ledger of faults, recovery times and violations, as counts and as a table."""

from collections.abc import Iterable
from dataclasses import dataclass, field

_HEADINGS = ("fault", "times", "violations", "longest recovery")


@dataclass(kw_only=True, slots=True)
class Tally:
    """Of one kind of fault: how often it struck, and the longest time until work went on."""

    name: str
    kills: bool = False
    times: int = 0
    violations: int = 0
    longest_s: float = 0.0


@dataclass(slots=True)
class Ledger:
    """All that was done to one farm. A fault is over at `over_s`; from then on it recovers."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    interruptions: list[float] = field(default_factory=list)
    _recovering: list[tuple[Tally, float]] = field(default_factory=list)
    _progress: int = -1
    _last: Tally | None = None

    @property
    def kills(self) -> int:
        """How many processes and connections were ended, each power cut being one."""
        return sum(tally.times for tally in self.tallies.values() if tally.kills)

    def struck(self, name: str, *, kills: bool, at_s: float, over_s: float) -> None:
        """Note a fault."""
        tally = self.tallies.setdefault(name, Tally(name=name, kills=kills))
        tally.times += 1
        self._last = tally
        self._recovering.append((tally, over_s))
        if kills:
            self.interruptions.append(at_s)

    def look(self, progress: int, now_s: float) -> bool:
        """Note how many boots and images there are: when there are more, the farm has recovered."""
        if progress <= self._progress:
            return False
        self._progress = progress
        for tally, over_s in self._recovering:
            tally.longest_s = max(tally.longest_s, now_s - over_s)
        self._recovering.clear()
        return True

    def violated(self, problems: Iterable[str]) -> None:
        """Note violations; they count for the fault that struck last."""
        for problem in problems:
            if problem in self.violations:
                continue
            self.violations.append(problem)
            if self._last is not None:
                self._last.violations += 1


def table(ledger: Ledger) -> str:
    """The tallies as a table of Markdown, the most frequent first, and what could not be done."""
    rows = [
        (one.name, str(one.times), str(one.violations), f"{one.longest_s:.0f} s")
        for one in sorted(ledger.tallies.values(), key=lambda one: (not one.kills, -one.times))
    ]
    rows.append(("all kills", str(ledger.kills), str(len(ledger.violations)), ""))
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    lines = [_line(_HEADINGS, widths), _line(["-" * width for width in widths], widths)]
    lines += [_line(row, widths) for row in rows]
    lines += [f"\nNot done: {name}: {why}." for name, why in sorted(ledger.missing.items())]
    return "\n".join(lines)


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
