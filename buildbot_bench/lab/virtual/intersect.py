"""What bursts of the same packets have in common, which is the packets' work; it runs nothing.

A kernel with a clock does other work besides: interrupts, callouts, threads in the background. It
comes at any time, and the packets' work comes with each burst. Each instruction's least count over
some bursts is therefore the packets' own: the intersection of multisets.

But bursts are not all alike. A ring of descriptors comes to its end in some of them: its work comes
once in so many bursts, the period. Bursts that lie a period apart are of one phase and do the same;
each phase has its own intersection, and a packet's instructions are the mean over the phases of a
period. A round is one burst of each phase.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce

Executed = Counter[int]

# Bursts: rings of 4096 descriptors, the most that em(4) has, at 64 packets a burst.
LONGEST = 64
# Rounds by which a period is found: one phase of 10 000 keeps an interrupt that one burst of ten had.
# With 3, two boots of six took 64 for em(4)'s 16.
ROUNDS = 4
# Each round takes a little more away: of FreeBSD 13.1 by em(4) 3608.15 instructions per packet were
# left after 12 rounds, 3607.82 after 64.
MOST_ROUNDS = 16
# Of the whole: what a further round, or a longer period, must change to matter. It is a fifteenth of
# an instruction per packet there.
TOLERANCE = 2e-5


class Rounds:
    """Bursts in the order sent, of which each phase's intersection is kept."""

    def __init__(self, period: int, bursts: Iterable[Executed] = ()) -> None:
        self.period = period
        self.levels: list[float] = []  # instructions per burst after each whole round
        self._phases: list[Executed] = []
        self._next = 0
        for burst in bursts:
            self.add(burst)

    def add(self, burst: Executed) -> None:
        """One more."""
        if len(self._phases) < self.period:
            self._phases.append(burst)
        else:
            self._phases[self._next] = _intersection(self._phases[self._next], burst)
        self._next = (self._next + 1) % self.period
        if self._next == 0:
            self.levels.append(sum(phase.total() for phase in self._phases) / self.period)

    @property
    def is_settled(self) -> bool:
        """Whether the last two rounds took next to nothing away, or there were too many."""
        if len(self.levels) < ROUNDS:
            return False
        before, between, last = self.levels[-3:]
        enough = TOLERANCE * last
        return len(self.levels) >= MOST_ROUNDS or (
            before - between <= enough and between - last <= enough
        )

    def executed(self) -> Executed:
        """How often each address was executed for the packets of one period."""
        return reduce(_sum, self._phases, Counter())


def find_period(bursts: Sequence[Executed]) -> int:
    """The least power of two of which no multiple keeps more, up to the most that has ROUNDS here.

    Periods are compared after the same number of rounds, as each round takes chance away: a short
    one by the mean of as many parts as there are.
    """
    periods = [1 << n for n in range((len(bursts) // ROUNDS).bit_length())]
    levels = [_level(bursts, period) for period in periods]
    return next(
        period for n, period in enumerate(periods) if levels[n] >= max(levels[n:]) * (1 - TOLERANCE)
    )


def _level(bursts: Sequence[Executed], period: int) -> float:
    """Instructions per burst that ROUNDS rounds of that period keep, the mean of all such parts."""
    part = period * ROUNDS
    levels = [
        Rounds(period, bursts[start : start + part]).levels[-1]
        for start in range(0, len(bursts) - part + 1, part)
    ]
    return sum(levels) / len(levels)


def _intersection(one: Executed, other: Executed) -> Executed:
    """The same as `one & other`, at once where they are equal, as most are."""
    return one if one == other else one & other


def _sum(total: Executed, phase: Executed) -> Executed:
    total.update(phase)
    return total
