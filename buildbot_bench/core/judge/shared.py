"""The budget of false alarms that the series of a lab, or of a run with many values, share.

The evidence of a series is an e-detector (`change`): compared with A at each commit it alarms
falsely once in A commits at most. With a budget of `alpha` alarms a commit for K series, e-BH (R.
Wang, A. Ramdas, *False discovery rate control with e-values*, Journal of the Royal Statistical
Society B 84, 2022) raises k alarms of a commit, where k is the largest number of series each of
which has evidence of K / (alpha k) or more. At each commit anew it is the e-d-BH of S.
Dandapanthula and A. Ramdas (*Multiple testing in multi-stream sequential change detection*,
arXiv:2501.04130, 2025): the expected share of false alarms, of those at the commit where you stop,
is at most `alpha` times the commits that you wait. While nothing changes, one commit in 1/alpha has
false alarms. Both hold however the series depend on each other, and the values of one boot do.
LORD and SAFFRON need independent series.

One alarm alone needs K times the evidence of a lone series (Bonferroni), K together need that.
"""

from collections.abc import Callable, Hashable, Iterable
from types import UnionType
from typing import TypeVar

from buildbot_bench.core.judge.model import Alarm, Nothing, Verdict

Series = TypeVar("Series", bound=Hashable)


def judge_together(
    series: Iterable[Series],
    judged: Callable[[Series, int], Verdict],
    counted: type[Alarm] | UnionType = Alarm,
) -> dict[Series, Verdict]:
    """Return the verdicts on one commit, or on all images and boots of it so far, in each series.

    `judged` gives the verdict by a policy with `together` alarms of the commit and with all series
    that share the budget, also those without this commit. The order of `series` does not matter.
    The verdicts that are `counted` share it: with suspicions, those that are worth more boots.
    """
    doubtful = list(series)
    verdicts: dict[Series, Verdict] = {}
    together = max(len(doubtful), 1)
    while True:
        verdicts |= {one: judged(one, together) for one in doubtful}
        alarms = max(sum(isinstance(one, counted) for one in verdicts.values()), 1)
        if alarms >= together:
            return verdicts
        together = alarms
        doubtful = [one for one in doubtful if not is_calm(verdicts[one])]


def is_calm(verdict: Verdict) -> bool:
    """Return whether it is the same where more evidence is needed."""
    return isinstance(verdict, Nothing) and verdict.began is None
