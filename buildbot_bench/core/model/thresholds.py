"""The thresholds that follow from `min_effect`.

`min_effect`, a fraction of the old level, is the smallest change worth a report. A change of that
size is measured as smaller half of the time, so thresholds that must not miss it are lower.

| threshold | of min_effect (m) | used by |
|---|---|---|
| relevant | ¾ · min(m, claim) | the search: steps it does not let pass |
| sought | .9 · m; with a claim max(relevant, ½ · claim) | the search: what must differ |
| change | m | judge, gate, reports, comparisons: what is called a change |
| expected sizes | 1, 5 and 12.5 · m | the judge's prior of the size of a change |
| usable | 5 · m | the judge: what a testbed with two modes must still show |
| lab tolerance | ½ · m | the control chart: what turns no verdict |
"""

import math

from buildbot_bench.core import ministat
from buildbot_bench.core.model import constants

_COUNTED_TWICE = 2
_OF_TWO_SPEEDS = 5


def relevant_effect(min_effect: float, claimed: float | None) -> float:
    """The least effect that a search stops for: 3/4 of it, as it may read as a little less."""
    wanted = min(min_effect, abs(claimed)) if claimed else min_effect
    return constants.RELEVANT_SHARE * wanted


def sought_effect(min_effect: float, claimed: float | None) -> float:
    """The least difference of a range's ends whose absence makes a search "not reproduced".

    What was claimed may have been overestimated, as what raises an alarm mostly is: half of it
    counts as reproduced.
    """
    if claimed is None:
        return constants.SOUGHT_SHARE * min_effect
    return max(relevant_effect(min_effect, claimed), constants.CLAIM_SHARE * abs(claimed))


def is_change(effect: float, min_effect: float) -> bool:
    """Whether an effect, as a fraction of the old level, is one that somebody wants to hear of."""
    return abs(effect) >= min_effect


def differ(before: float, after: float, min_effect: float) -> bool:
    """Whether two values of a metric are as far apart as that."""
    return abs(after - before) >= min_effect * abs(before)


def values_that_prove(*, counted: bool, spells: bool = False) -> int:
    """How many values of a level prove it, as far as their number does.

    Of what varies these are as many as Student's t has something to say of. What is counted needs
    no more than to be seen to repeat: a second value confirms the first. On a machine that others
    use (`spells`) a program may have two speeds, as often one as the other. With five values of
    each level these agree with a step by chance once in 2^8 times, with three once in 16.
    """
    if spells:
        return _OF_TWO_SPEEDS
    return _COUNTED_TWICE if counted else ministat.MIN_VALUES


def change_in_logs(min_effect: float) -> float:
    """The smallest change of interest as a difference of logarithms."""
    return math.log1p(min_effect)


def expected_sizes(min_effect: float) -> tuple[float, ...]:
    """Standard deviations of a small, a usual and a large change: 2, 10 and 25 % by default."""
    return tuple(scale * min_effect for scale in constants.EFFECT_SCALES)


def usable_effect(min_effect: float) -> float:
    """What a testbed must be able to show to be of any use, be its boots ever so scattered."""
    return constants.USABLE_SCALE * min_effect


def lab_tolerance(min_effect: float) -> float:
    """By how much a lab may be off: half of what a verdict turns on."""
    return constants.TOLERANCE_SHARE * min_effect
