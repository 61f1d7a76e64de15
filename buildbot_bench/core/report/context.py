"""Evidence beyond a search's own samples, opinions too, and its suspicion after each boot."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from scipy.special import ndtri

from buildbot_bench.core.figures import count, whole_percent
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.json_model import Count, Share, in_json
from buildbot_bench.core.metric import Metric, NoiseClass
from buildbot_bench.core.report.why import Captures
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.search import (
    Answer,
    Costs,
    Evidence,
    SearchPolicy,
    Step,
    Suspect,
    suspects,
)
from buildbot_bench.core.search.inference import infer
from buildbot_bench.core.search.noise_model import read
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.touched import CommitPrior


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRecord:
    """One build of a revision of the range.

    `iterations` is how many of its iterations gave a value on the search's testbed and workload;
    `facts` are the (name, value) pairs that lab and builder reported of them; `kernel` tells
    kernels apart by what they do, as `digest` does by the bytes of the artefact. The three sizes
    are the kernel's, in bytes.
    """

    position: int
    label: str
    ordinal: int = 0
    digest: str | None = None
    kernel: str | None = None
    build_s: float | None = None
    iterations: int = 0
    facts: frozenset[tuple[str, str]] = frozenset()
    text_bytes: int | None = None
    data_bytes: int | None = None
    bss_bytes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesSamples:
    """What another workload or testbed measured in and around the range.

    `standing` tells whether the step was confirmed there, None where its level raised no alarm;
    `effect` and its interval `low` to `high`, fractions of the old level, are those boots'. `value`
    is the name of one of many values of its runs.
    """

    testbed: str
    workload: str
    value: str = ""
    samples: tuple[Sample, ...] = ()
    standing: Standing | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchStage:
    """What the search suspected after the measurement that ended at `at_s`, of `position`.

    `left` is how many commits were suspected: those of all `suspects`, the whole range before
    both of its ends were measured.
    """

    at_s: float
    position: int
    left: Count
    suspects: tuple[Suspect, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlRecord:
    """What the testbed's control image, `label`, tells of the testbed.

    Its `rounds` good measurements, one every `every_s`, lay within ±`spread`, a fraction, of its
    level; `last_good_s` is when the last of them ended. `held`: the testbed is in quarantine.
    """

    label: str
    rounds: int = 0
    spread: float = 0.0
    every_s: float = 0.0
    last_good_s: float | None = None
    held: bool = False


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """All that is known besides; the report claims nothing of what is left out.

    `later` are the samples of the search's own testbed and workload behind the range, `tip` is
    the newest revision of the branch. `runners_up` are the places where a step of the answer may
    lie instead, by the step's `new`, the likeliest first. `opinion` is the last word on the
    report, `record` how often the farm was right before. `captures` tell where the cycles went,
    None where that is not sampled.
    `control` is None for a testbed without a control image. `one_order`: a further image of some
    revision came out as its first one again. `one_layout` is why no revision was measured in more
    than one link order, and what each iteration had another of instead; empty where images show
    luck with layout. `prior` is that of the search's commits, None where
    it was flat. `marked` are sentences on what people said of changes of the series, `expected`
    maps the position of each step that was marked so to who said it. `stated` are the figures that
    were worked out when the search ended: the report gives them, and no later boot moves them.
    """

    images: tuple[ImageRecord, ...] = ()
    series: tuple[SeriesSamples, ...] = ()
    later: tuple[Sample, ...] = ()
    tip: Revision | None = None
    stages: tuple[SearchStage, ...] = ()
    runners_up: Mapping[int, tuple[Suspect, ...]] = field(default_factory=dict)
    opinion: Opinion | None = None
    record: TrackRecord = NOBODY_SPOKE
    captures: Captures | None = None
    control: ControlRecord | None = None
    one_order: bool = False
    one_layout: str = ""
    prior: CommitPrior | None = None
    marked: tuple[str, ...] = ()
    expected: Mapping[int, str] = field(default_factory=dict)
    stated: tuple[Step, ...] = ()


NO_CONTEXT = Context()

NOT_HEEDED = "one: the build does not heed BENCH_IMAGE"
"""The link order of builds of which a further one came out as the first."""


def one_layout(metric: Metric, why: str, randomised: Iterable[str | None]) -> str:
    """As `Context.one_layout` has it; `randomised` is what the runs said, `why` of the builds."""
    if metric.noise is NoiseClass.EXACT:
        return "what is counted does not depend on the link order; there is one of each revision"
    each = " or ".join(sorted({said for said in randomised if said})) or "nothing"
    return f"the link order was not varied ({why}); randomised for each run: {each}"


# Each stage costs a plan: tens of milliseconds for a long range.
MOST_STAGES = 60

# A step lies between two different kernels that were measured; one alone shows none.
_KERNELS_OF_A_STEP = 2

_NO_COSTS = Costs(build_s=0.0, boot_s=0.0, run_s=0.0)  # suspicion does not depend on them


def replay_stages(
    n: int, evidence: Evidence, policy: SearchPolicy, times: Collection[float]
) -> tuple[SearchStage, ...]:
    """What was suspected after each measurement that ended at one of `times`, oldest first.

    At most 60, evenly spread, with the last; what is untestable or identical is so from the start.
    """
    ordered = sorted(evidence.measurements, key=lambda one: one.at_s)
    ends = [index for index, one in enumerate(ordered, start=1) if one.at_s in times]
    stages = []
    if len(ends) > MOST_STAGES:
        ends = [ends[int(index)] for index in np.linspace(0, len(ends) - 1, MOST_STAGES)]
    for end in ends:
        known = replace(evidence, measurements=tuple(ordered[:end]))
        found = suspects(n, known, _NO_COSTS, policy)
        # Where both ends were measured, nothing suspected means that they are equal.
        both_ends = bool(found) or {0, n} <= {one.position for one in known.measurements}
        stages.append(
            SearchStage(
                at_s=ordered[end - 1].at_s,
                position=ordered[end - 1].position,
                left=sum(one.new - one.old for one in found) if both_ends else n,
                suspects=found,
            )
        )
    return tuple(stages)


def runners_up(
    n: int, evidence: Evidence, policy: SearchPolicy, answer: Answer
) -> dict[int, tuple[Suspect, ...]]:
    """Where each step of the answer may lie instead, the likeliest first, by its `new`.

    That is beside it, in what was measured next, and in its direction: a change elsewhere, or the
    other way, is another step.
    """
    ground = build_range(n, evidence, policy)
    measured = {int(ground.kernel[one.position]) for one in evidence.measurements}
    if len(measured) < _KERNELS_OF_A_STEP:
        return {}
    belief = infer(ground, read(ground, evidence.measurements), policy)
    kernels = [int(kernel) for kernel in belief.readings.kernels]
    gap_of = {kernel: gap for gap, kernel in enumerate(kernels[1:])}
    named = {
        gap_of[step.new]: step for step in answer.steps if step.new in gap_of and step.race is None
    }
    return {
        step.new: tuple(
            sorted(
                (
                    Suspect(
                        old=ground.last_with(kernels[beside]),
                        new=kernels[beside + 1],
                        probability=float(belief.relevant[beside]),
                        effect=float(np.expm1(belief.change[beside])),
                    )
                    for beside in (gap - 1, gap + 1)
                    if 0 <= beside < len(kernels) - 1
                    and beside not in named
                    and belief.change[beside] * step.effect > 0
                ),
                key=lambda place: -place.probability,
            )
        )
        for gap, step in named.items()
    }


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
