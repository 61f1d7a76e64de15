"""Holm's correction of p values for the number of tests made together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p values of m tests, each corrected so that all together err as one would; same order.

    To call significant what is below alpha is wrong anywhere among true null hypotheses with a
    probability of at most alpha, however the tests depend on each other. The i-th smallest is
    multiplied by m - i + 1, is no less than a smaller one's, and at most 1: S. Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    ascending = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, index in enumerate(ascending):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = least
    return tuple(corrected)
