"""The bound of start-time fair queueing, by which its tests judge it."""

from collections.abc import Collection


def waits_at_most_s(weight: float, cost_s: float, others: Collection[tuple[float, float]]) -> float:
    """How long a claimant waits at most between two services of its own, in seconds.

    `others` are the weights and costs of the other claimants, of each the largest; `cost_s` is what
    the claimant's own services take. While its span of cost_s / weight passes, each of the others
    is served for its weight's part of it, and for one service more (Goyal et al., theorem 1).
    """
    return sum(other * cost_s / weight + most_s for other, most_s in others)
