"""Sentences on the changes that people marked in a series."""

from collections.abc import Mapping, Sequence

from buildbot_bench.core.judge.model import Said, Settled
from buildbot_bench.core.model.noise import Noise


def describe_marks(
    settled: Sequence[Settled],
    labels: Mapping[int, str],
    spread: tuple[Noise, Noise],
    *,
    workload: str,
    testbed: str,
) -> tuple[str, ...]:
    """One sentence for each change that somebody marked, in their order.

    `labels` are the names of the commits at the changes' positions, `spread` is the series' noise
    without the marks and with them.
    """
    return tuple(
        _sentence(one, labels.get(one.began, f"#{one.began}"), spread, f"{workload} on {testbed}")
        for one in settled
        if one.said is not None
    )


def _sentence(one: Settled, label: str, spread: tuple[Noise, Noise], series: str) -> str:
    by = f" by {one.author}" if one.author else ""
    if one.said is Said.EXPECTED:
        return f"{label} was marked as expected{by}. Later commits are compared with its level."
    without, given = (f"{100 * noise.sigma_build:.2f} %" for noise in spread)
    return (
        f"{label} was marked as noise{by}. The spread of builds of {series} is {given} with it "
        f"and {without} without it."
    )
