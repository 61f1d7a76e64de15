"""People's opinions on reports and changes, and the share of culprits that people confirmed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scipy.special import ndtri

from buildbot_bench.core.figures import count, whole_percent
from buildbot_bench.core.json_model import Count, Share, in_json
from buildbot_bench.core.judge.model import Said, Settled
from buildbot_bench.core.model.noise import Noise


class OpinionKind(StrEnum):
    """What somebody says of a finding; `again` asks for it to be measured once more."""

    EXPECTED = "expected"
    NOISE = "noise"
    FIXED = "fixed"
    AGAIN = "again"


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinion:
    """Somebody's word on a report or a verdict.

    `fixed_by` names the commit that fixed it, of a "fixed" one alone. `at_s` is seconds since the
    epoch.
    """

    kind: OpinionKind
    author: str
    at_s: float
    fixed_by: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackRecord:
    """Of the culprits that the robot named and people judged, how many were real and how many not.

    One that was expected or is fixed was real; noise was not.
    """

    right: Count = 0
    wrong: Count = 0

    @property
    def judged(self) -> int:
        """How many were judged."""
        return self.right + self.wrong

    @property
    def precision(self) -> float | None:
        """The share of real ones; None before the first is judged."""
        return self.right / self.judged if self.judged else None

    @property
    @in_json
    def interval(self) -> tuple[Share, Share]:
        """Where the precision lies with 95 % confidence: Wilson's score interval.

        Unlike the usual p ± z·s it holds for few cases, and for none wrong among them (E. B.
        Wilson, J. Am. Stat. Assoc. 22 (1927) 209). Before the first case it is 0 to 1.
        """
        if not self.judged:
            return 0.0, 1.0
        n, share, z = self.judged, self.right / self.judged, float(ndtri(0.975))
        middle = share + z * z / (2 * n)
        reach = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
        scale = 1 + z * z / n
        return max((middle - reach) / scale, 0.0), min((middle + reach) / scale, 1.0)


NOBODY_SPOKE = TrackRecord()


def so_far(record: TrackRecord) -> str:
    """The record in a sentence."""
    if record.judged == 0:
        return "No report of this farm has been reviewed yet."
    low, high = record.interval
    were = "was" if record.right == 1 else "were"
    return (
        f"People reviewed {count(record.judged, 'report')} of this farm: {record.right:,} {were} "
        f"right ({whole_percent(record.right / record.judged)}, 95 % interval "
        f"{whole_percent(low)} to {whole_percent(high)})."
    )


def said(opinion: Opinion) -> str:
    """An opinion as a sentence: `ann marked it as noise.`."""
    what = {
        OpinionKind.EXPECTED: "expected",
        OpinionKind.NOISE: "noise",
        OpinionKind.FIXED: f"fixed by {opinion.fixed_by}",
        OpinionKind.AGAIN: "to measure again",
    }
    return f"{opinion.author} marked it as {what[opinion.kind]}."


def describe_marks(
    settled: Sequence[Settled],
    labels: Mapping[int, str],
    spread: tuple[Noise, Noise],
    *,
    workload: str,
    testbed: str,
) -> tuple[str, ...]:
    """One sentence for each change that somebody marked, in their order.

    `labels` are commits' names by position, `spread` the noise without the marks and with them.
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
