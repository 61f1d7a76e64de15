"""How often verdicts of a stated probability were right, and whether series keep their budget."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from scipy.special import pdtrc

from buildbot_bench.core.contrast.difference import SideBoots, difference
from buildbot_bench.core.figures import count, few, quantity, whole_percent
from buildbot_bench.core.json_model import Count, Share, in_json
from buildbot_bench.core.ministat import MIN_VALUES
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.report.context import TrackRecord


class VerdictKind(StrEnum):
    """What was said: which commit did it, that a level changed, or how variants compare."""

    CULPRIT = "culprit"
    ALARM = "alarm"
    COMPARISON = "comparison"


class CheckedBy(StrEnum):
    """What checked it: a fix that landed, later boots, or a person."""

    FIX = "fix"
    BOOTS = "boots"
    PERSON = "person"


@dataclass(frozen=True, kw_only=True, slots=True)
class LaterCheck:
    """One thing that was learnt after a verdict, and whether the verdict agrees with it."""

    by: CheckedBy
    right: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedVerdict:
    """A verdict with the probability (0..1) that was stated, and what checked it since."""

    kind: VerdictKind
    probability: float
    checks: tuple[LaterCheck, ...] = ()

    @property
    def right(self) -> bool | None:
        """Whether it was right: one denial is enough against it. None: nothing checked it."""
        return all(check.right for check in self.checks) if self.checks else None


BINS = ((0.99, 1.0), (0.95, 0.99), (0.9, 0.95), (0.0, 0.9))
"""The stated probabilities that share a row: from the first on, below the second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationRow:
    """Verdicts of one kind stated at `least` or more and below `below`; `below` of 1 has no end.

    `stated` counts all of them, `record` those that could be checked, `by` what checked them: one
    verdict may be checked in several ways.
    """

    kind: VerdictKind
    least: Share
    below: Share
    stated: Count
    record: TrackRecord
    by: Mapping[str, int]

    @property
    @in_json
    def too_sure(self) -> bool:
        """Whether fewer were right than was stated, beyond the 95 % interval."""
        return self.record.judged > 0 and self.record.interval[1] < self.least

    @property
    @in_json
    def words(self) -> str:
        """The row as a sentence."""
        level = f"{100 * self.least:.0f} to {whole_percent(self.below)}"
        level = level if self.below < 1 else f"{whole_percent(self.least)} or more"
        checked, right = self.record.judged, self.record.right
        of = f"Of {count(checked or self.stated, self.kind)} stated at {level}"
        if not checked:
            return f"{of} none could be checked yet."
        low, high = (whole_percent(end) for end in self.record.interval)
        return (
            f"{of} that could be checked, {right:,} {_were(right)} right; 95 % interval {low} to "
            f"{high}{': fewer than stated' if self.too_sure else ''}."
        )


NONE_CHECKED = (
    "No verdict of this farm could be checked yet. A fix that lands, later boots of both "
    "revisions or a mark on its report checks one."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """All rows with a verdict, culprits first, the surest first."""

    rows: tuple[CalibrationRow, ...]

    @property
    @in_json
    def words(self) -> str:
        """What is known of the surest kind of verdict; or that nothing is."""
        return next((row.words for row in self.rows if row.record.judged), NONE_CHECKED)


def calibrate(verdicts: Iterable[StatedVerdict]) -> Calibration:
    """Sort verdicts by kind and stated probability, and count those that were right."""
    known = list(verdicts)
    rows = [
        _row(kind, least, below, [one for one in known if one.kind is kind])
        for kind in VerdictKind
        for least, below in BINS
    ]
    return Calibration(rows=tuple(row for row in rows if row.stated))


def _row(
    kind: VerdictKind, least: float, below: float, of_kind: list[StatedVerdict]
) -> CalibrationRow:
    end = math.inf if below == 1 else below
    own = [one for one in of_kind if least <= one.probability < end]
    right = [one.right for one in own]
    ways = [{check.by for check in one.checks} for one in own]
    return CalibrationRow(
        kind=kind,
        least=least,
        below=below,
        stated=len(own),
        record=TrackRecord(right=right.count(True), wrong=right.count(False)),
        by={str(way): sum(way in of for of in ways) for way in CheckedBy},
    )


SURE = 0.975
"""How sure later boots must be to check a verdict: one end of a 95 % interval."""


def checked_by_boots(
    old: SideBoots, new: SideBoots, effect: float, *, noise: Noise | None = None, layout: bool
) -> LaterCheck | None:
    """What later boots of both revisions, by image, say of a stated effect; None: they cannot tell.

    They confirm half of the effect or more, unless a majority of a side's images denies it, and
    deny that there is as much. Without `layout` another image of a revision gives the same.
    """
    if any(sum(map(len, side.values())) < MIN_VALUES for side in (old, new)):
        return None
    half = math.log1p(effect) / 2
    seen = difference(old, new, noise or learn([]), layout=layout)
    sure = seen.sure_beyond(abs(half), math.copysign(1.0, half))
    if sure <= 1 - SURE:
        return LaterCheck(by=CheckedBy.BOOTS, right=False)
    if sure >= SURE and not seen.contradicted:
        return LaterCheck(by=CheckedBy.BOOTS, right=True)
    return None


def compared_again(decided: Iterable[tuple[Hashable, str, float]]) -> list[StatedVerdict]:
    """Comparisons (question, said, probability), oldest first, each checked by later ones of it."""
    found = []
    later: dict[Hashable, list[str]] = defaultdict(list)
    for question, said, sure in reversed(list(decided)):
        checks = [LaterCheck(by=CheckedBy.BOOTS, right=since == said) for since in later[question]]
        found.append(
            StatedVerdict(kind=VerdictKind.COMPARISON, probability=sure, checks=tuple(checks))
        )
        later[question].append(said)
    return found[::-1]


UNKEPT = 0.01
"""How rarely as many false alarms come by chance before a series is said not to keep its budget.

A goal, not an estimate: of a hundred series that keep it one is told wrongly that it does not.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesBudget:
    """The stated budget of false alarms of a series, and what happened.

    `judged` commits had `alarms`, of which `checked` could be checked and `denied` were false. The
    budget is one false alarm in `one_in` commits. `unfit` says why its newest revision that could
    not be judged could not; empty where none was.
    """

    testbed: str
    workload: str
    branch: str
    one_in: float
    judged: Count = 0
    alarms: Count = 0
    checked: Count = 0
    denied: Count = 0
    unfit: str = ""

    @property
    @in_json
    def expected(self) -> float:
        """How many false alarms the budget allows for as many judgements."""
        return self.judged / self.one_in

    @property
    @in_json
    def chance(self) -> Share:
        """How likely as many false alarms or more are where the budget is kept: Poisson's tail."""
        return float(pdtrc(self.denied - 1, self.expected)) if self.denied else 1.0

    @property
    @in_json
    def kept(self) -> bool:
        """Whether what happened may be chance."""
        return self.chance >= UNKEPT

    @property
    @in_json
    def words(self) -> str:
        """The budget and what happened, in some sentences."""
        if not self.judged:
            return ""
        said = (
            f"The budget is one false alarm in {self.one_in:,.0f} commits. Of "
            f"{count(self.alarms, 'alarm')} on {count(self.judged, 'judged commit')} "
            f"{self.checked:,} could be checked, {self.denied:,} {_were(self.denied)} denied"
        )
        if self.denied:
            said += f", where the budget allows for {quantity(self.expected)}"
        if not self.kept:
            said += (
                f": this series does not keep it ({few(self.chance)}). Raise min-effect of the "
                "testbed, or find what makes its values vary"
            )
        elif self.denied:
            said += ". That may be chance"
        unfit = (
            f" The newest revision that could not be judged: {self.unfit}." if self.unfit else ""
        )
        return f"{said}.{unfit}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
