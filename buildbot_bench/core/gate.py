"""Gates that let a commit pass to the hardware where an exact figure moved or is missing."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from buildbot_bench.core.model.thresholds import differ
from buildbot_bench.core.sample import NoiseClass, Sample


class Ruling(Enum):
    """What a gate says of a commit: `WAIT` until it was measured there."""

    OPEN = "open"
    WAIT = "wait"
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """What a testbed that measures before others do knows of a workload, by position.

    `settled` are the commits of which it has said all that it will; `figures` of those the samples
    that came of it. `least` is the smallest relevant difference, as a fraction. Nobody waits for a
    `quarantined` gate.
    """

    settled: Collection[int]
    figures: Mapping[int, Sample]
    least: float
    quarantined: bool = False

    def rules(self, position: int, known: int) -> Ruling:
        """Whether a commit is to be measured behind the gate, where `known` was already."""
        if self.quarantined:
            return Ruling.OPEN
        if position not in self.settled:
            return Ruling.WAIT
        new, old = self.figures.get(position), self.figures.get(known)
        if new is None or old is None or (new.metric, new.epoch) != (old.metric, old.epoch):
            return Ruling.OPEN
        if new.metric.noise is not NoiseClass.EXACT:
            return Ruling.OPEN
        before, after = median(old.values), median(new.values)
        return Ruling.OPEN if differ(before, after, self.least) else Ruling.CLOSED


def figures_of(samples: Iterable[Sample], well: Collection[int]) -> dict[int, Sample]:
    """The sample of each commit whose measurement ended `well`.

    A no-op change ends well without a sample: its kernel and its figure are those before it.
    """
    own = {sample.position: sample for sample in samples if sample.image == 0}
    figures: dict[int, Sample] = {}
    newest: Sample | None = None
    for position in sorted({*own, *well}):
        sample = own.get(position, newest)
        if sample is None or not sample.values:
            continue
        newest = sample
        if position in well:
            figures[position] = newest
    return figures


def rulings(
    candidates: Iterable[int], measured: Collection[int], gates: Sequence[Gate]
) -> Iterator[tuple[int, tuple[Ruling, ...]]]:
    """What each gate says of some positions; one that opens is enough.

    Each is compared with the nearest commit before it that was `measured` behind the gates, so
    that many small movements add up; with the nearest after it when there is none; and let through
    when there is neither.
    """
    in_order = sorted(measured)
    for position in candidates:
        known = _nearest(position, in_order)
        if known is None:
            yield position, (Ruling.OPEN,) * len(gates)
        else:
            yield position, tuple([gate.rules(position, known) for gate in gates])


def first_let_through(
    candidates: Iterable[int], measured: Collection[int], gates: Sequence[Gate]
) -> int | None:
    """The first of some positions for which a gate opens."""
    ruled = rulings(candidates, measured, gates)
    return next((position for position, said in ruled if Ruling.OPEN in said), None)


def _nearest(position: int, measured: Sequence[int]) -> int | None:
    place = bisect_left(measured, position)
    return measured[max(place - 1, 0)] if measured else None
