"""The reason that an undecided search gives, with the number of values that would decide it.

Two sides with n values each, of standard deviation s, differ by d with the standard error
s·sqrt(2/n). To find d in nine of ten cases with a false positive rate of `error` takes

    n = 2 ((z(1 - error/2) + z(.9)) s/d)²

values a side (Cohen, Statistical Power Analysis, 2.4, for known s).
"""

from math import ceil, log1p

import numpy as np
from scipy.special import ndtri

from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.structure import structure

_POWER = 0.9
_ROUND = 10  # a number of values is told in tens


def why_exhausted(posterior: AveragedPosterior, policy: SearchPolicy) -> str:
    """The reason to answer when nothing is left that could tell more."""
    weights = np.array([one.weight for one in posterior.models])
    sigmas = np.array([one.noise.total for one in posterior.models])
    sigma = float(weights @ sigmas / weights.sum())
    needed = _values_of_a_side(sigma, policy)
    boots = np.bincount(posterior.readings.place_of_value)
    if needed <= min(boots[0], boots[-1]):
        return "no measurement is left"
    many = _ROUND * ceil(needed / _ROUND)
    seen = structure(posterior)
    return (
        f"values differ by {100 * sigma:.2g} % from one to the next. A change of "
        f"{100 * policy.min_effect:.2g} % takes about {many:,} values of each side"
    ) + (f". {seen[0].upper()}{seen[1:]}" if seen else "")


def _values_of_a_side(sigma: float, policy: SearchPolicy) -> int:
    quantiles = float(ndtri(1 - policy.error / 2) + ndtri(_POWER))
    return ceil(2 * (quantiles * sigma / log1p(policy.min_effect)) ** 2)
