"""The test whether replicates show that a target is reached."""

from enum import StrEnum

from scipy import stats

_SIGMAS = 2.0
_DOUBT = 0.025


class Verdict(StrEnum):
    """`open`: beyond the target by less than chance explains; more replicates tell."""

    REACHED = "reached"
    OPEN = "open"
    MISSED = "MISSED"


def of_mean(mean: float, error: float, most: float) -> Verdict:
    """A mean with its standard error, against the most that it may be."""
    if mean <= most:
        return Verdict.REACHED
    return Verdict.OPEN if mean - _SIGMAS * error <= most else Verdict.MISSED


def of_share(cases: int, replicates: int, most: float) -> Verdict:
    """Cases among replicates, against the share that they may be (Clopper and Pearson 1934).

    Reached are targets that the observed share keeps: with few replicates this says little.
    """
    if cases <= most * replicates:
        return Verdict.REACHED
    least = float(stats.beta.ppf(_DOUBT, cases, replicates - cases + 1))
    return Verdict.OPEN if least <= most else Verdict.MISSED
