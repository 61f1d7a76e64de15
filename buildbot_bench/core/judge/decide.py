"""The judge's verdict on a new sample: nothing, a suspicion, an alarm, or unfit."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from buildbot_bench.core.figures import percent, threshold, whole_percent
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.judge.finding import Finding, strongest
from buildbot_bench.core.judge.images import Image, images_of, in_words, is_layout, row
from buildbot_bench.core.judge.model import (
    Alarm,
    Direction,
    JudgePolicy,
    Nothing,
    Remeasure,
    Settled,
    Suspicion,
    Unfit,
    Verdict,
)
from buildbot_bench.core.judge.rounds import LAST_ROUND, is_denied, is_proven, next_round
from buildbot_bench.core.judge.segment import (
    is_return,
    known_noise,
    noise_by_marks,
    segment_of,
    since_expected,
    typical_newest,
)
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.ministat import MAX_MAGNITUDE, MIN_VALUES, Comparison, compare
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.model.thresholds import change_in_logs, is_change, usable_effect
from buildbot_bench.core.sample import NoiseClass, Sample

_PLAIN = 4.0  # standard errors of a counted change at its floor; the last round's boots are double

_RETURNED = "the level is back. Only one revision showed the last change"


def judge(
    history: Sequence[Sample],
    new: Sample,
    noise: Noise,
    policy: JudgePolicy,
    settled: Sequence[Settled] = (),
) -> Verdict:
    """Judge a new sample by the samples at its position and before.

    `history` may hold other images of the new sample's position; samples of another testbed,
    workload or metric are passed over, and so are values that are not positive. Order matters in
    neither. A metric that is counted needs no further images, and as many fresh boots of each side
    as show its floor. `settled` are the changes that were dealt with at earlier positions: they
    raise no second alarm. What people said of them bears on what is compared with what (see
    `segment`). Raises UsageError for a confidence that ministat does not know.
    """
    if new.metric.noise is NoiseClass.EXACT:
        policy = replace(policy, fresh=_boots_that_show(policy, noise), images=False)
    kin = [
        sample
        for sample in since_expected(history, new.position, settled)
        if _comparable(sample, new)
    ]
    samples = [sample for sample in kin if sample.epoch == new.epoch]
    comparison = _students_t(samples, new, policy.confidence)
    images = images_of([*samples, new], noise.sigma_run)
    if reason := _unfit(kin, samples, new, images, policy.item):
        return Unfit(comparison=comparison, reason=reason)
    alone = replace(policy, corroborated=frozenset())
    segment = segment_of(images, noise, alone, settled)
    finding = _strongest(segment, noise, policy)
    known = finding and _known(finding, images, noise, (alone, settled), comparison)
    if known:
        return known
    better = _higher_is_better(new, policy)
    if finding is not None:
        policy = policy.towards(_direction(finding.difference, better))
    if finding is not None and is_proven(finding, noise, policy):
        told = _strongest(typical_newest(segment, noise), noise, policy) or finding
        if is_change(told.interval[0], policy.min_effect):
            return _alarm(told, comparison, better, policy.item)
        return _small(told, comparison, policy)
    unused = 0 if finding is None else _unused(images, finding.anchor.position)
    if finding is not None and (requests := next_round(finding, noise, policy, unused)):
        return _suspicion(finding, comparison, requests)
    return _no_change(finding, segment, comparison, noise, policy)


def judge_by_history(
    history: Sequence[Sample], new: Sample, policy: JudgePolicy, settled: Sequence[Settled]
) -> Verdict:
    """The verdict on a sample by the noise of its history, with what of it was marked as noise."""
    _, noise = noise_by_marks(history, settled)
    return judge(history, new, noise, policy, settled)


def _known(
    finding: Finding,
    images: Sequence[Image],
    noise: Noise,
    terms: tuple[JudgePolicy, Sequence[Settled]],
    comparison: Comparison | None,
) -> Nothing | None:
    """Why a finding is no news, by what was settled before; None where it may be."""
    policy, settled = terms
    if is_return(finding, images, noise, policy, settled):
        return Nothing(comparison=comparison, reason=_RETURNED)
    if mark := known_noise(images, noise, policy, settled):
        return _marked(finding, comparison, mark)
    shown = any(one.small and one.judged >= finding.first for one in settled)
    if shown and not is_change(finding.interval[0], policy.min_effect):
        return replace(_small(finding, comparison, policy), began=None, effect=None)
    return None


def _marked(finding: Finding, comparison: Comparison | None, mark: Settled) -> Nothing:
    """No change: it is what somebody marked as noise, or a step between the levels next to it."""
    effect, _, _ = finding.interval
    by = f" by {mark.author}" if mark.author else ""
    return Nothing(
        comparison=comparison,
        reason=f"{percent(effect)}, which was marked as noise{by}: both levels count as one",
        began=finding.began,
        effect=effect,
    )


def _strongest(segment: Sequence[Image], noise: Noise, policy: JudgePolicy) -> Finding | None:
    levels = row(segment, noise, policy.min_effect)
    return strongest(segment, levels, 0, levels.length)


def _no_change(
    finding: Finding | None,
    segment: Sequence[Image],
    comparison: Comparison | None,
    noise: Noise,
    policy: JudgePolicy,
) -> Unfit | Nothing:
    if blind := _blind(noise, policy):
        return Unfit(comparison=comparison, reason=blind)
    if finding is None:
        return Nothing(comparison=comparison, reason=_quiet(segment, policy))
    return Nothing(
        comparison=comparison,
        reason=_doubt(finding, noise, policy),
        began=finding.began if is_denied(finding, noise, policy) else None,
    )


def _unused(images: Sequence[Image], position: int) -> int:
    """The number of the next image of a position."""
    return 1 + max(image.image for image in images if image.position == position)


def _boots_that_show(policy: JudgePolicy, noise: Noise) -> int:
    """So many of each side that `min_effect` is _PLAIN standard errors of their difference."""
    boots = 2 * (_PLAIN * noise.sigma_run / policy.min_effect) ** 2
    return min(policy.fresh, max(1, math.ceil(boots)))


def _alarm(
    finding: Finding, comparison: Comparison | None, higher_is_better: bool, item: ItemUnderTest
) -> Alarm:
    effect, low, high = finding.interval
    return Alarm(
        comparison=comparison,
        reason=(
            f"the level changed by {percent(effect)}. Fresh {item.iteration}s of both sides show it"
        ),
        anchor=finding.anchor.position,
        effect=effect,
        low=low,
        high=high,
        probability=finding.probability,
        direction=_direction(effect, higher_is_better),
        first=finding.first,
        began=finding.began,
    )


def _small(told: Finding, comparison: Comparison | None, policy: JudgePolicy) -> Nothing:
    effect, _, _ = told.interval
    least = threshold(policy.min_effect)
    return Nothing(
        comparison=comparison,
        reason=f"the level changed by {percent(effect)}, less than the {least} of a change",
        began=told.began,
        effect=effect,
    )


def _direction(difference: float, higher_is_better: bool) -> Direction:
    return "improvement" if (difference > 0) is higher_is_better else "regression"


def _suspicion(
    finding: Finding, comparison: Comparison | None, requests: tuple[Remeasure, ...]
) -> Suspicion:
    effect, low, high = finding.interval
    return Suspicion(
        comparison=comparison,
        reason=(
            f"the level may have changed by {percent(effect)} ({percent(low)} to {percent(high)})"
        ),
        anchor=finding.anchor.position,
        first=finding.first,
        effect=effect,
        low=low,
        high=high,
        probability=finding.probability,
        remeasure=requests,
    )


def _higher_is_better(new: Sample, policy: JudgePolicy) -> bool:
    chosen = policy.higher_is_better
    return new.metric.higher_is_better if chosen is None else chosen


def _comparable(sample: Sample, new: Sample) -> bool:
    same = (sample.testbed, sample.workload, sample.metric.unit) == (
        new.testbed,
        new.workload,
        new.metric.unit,
    )
    return same and sample.position <= new.position


def _students_t(samples: Sequence[Sample], new: Sample, confidence: float) -> Comparison | None:
    """Student's t against the predecessor; None when one of them has too few values."""
    values = _finite(new)
    if len(values) < MIN_VALUES:
        return None
    earlier = [
        sample
        for sample in samples
        if sample.position < new.position and len(_finite(sample)) >= MIN_VALUES
    ]
    if not earlier:
        return None
    predecessor = max(earlier, key=lambda sample: (sample.position, -sample.image))
    return compare(_finite(predecessor), values, confidence=confidence)


def _finite(sample: Sample) -> tuple[float, ...]:
    return tuple(value for value in sample.values if abs(value) <= MAX_MAGNITUDE)


def _unfit(
    kin: Sequence[Sample],
    samples: Sequence[Sample],
    new: Sample,
    images: Sequence[Image],
    item: ItemUnderTest,
) -> str:
    """Why the samples cannot tell; empty when they can."""
    if not any(image.position == new.position for image in images):
        return f"no {item.iteration} of the new sample gave a value"
    older = [sample for sample in kin if sample.position < new.position]
    if older and not any(sample.position < new.position for sample in samples):
        last = max(older, key=lambda sample: sample.position)
        return (
            f"the {item.place} changed since {last.label} (epoch {quoted(last.epoch)}, now "
            f"{quoted(new.epoch)}): measure the predecessor again"
        )
    return ""


def _blind(noise: Noise, policy: JudgePolicy) -> str:
    """Why a change worth a mail would not have been seen; empty when it would.

    Seen are differences of about 4.5 standard errors (exp(4.5²/2) is the default's evidence).
    """
    boots = f"{policy.item.iteration}s"
    if noise.saturated:
        return f"{boots} differ by {100 * noise.sigma_run:.2f} % only: " + (
            "something else than the code is the limit, a timer or a quota. Measure more work"
            if policy.item is ItemUnderTest.COMMAND
            else "the line rate is the limit, not the DUT. Use smaller packets or a slower DUT"
        )
    fresh = LAST_ROUND * policy.fresh
    smallest = math.sqrt(4 / fresh * math.log(policy.evidence_needed)) * noise.sigma_run
    if noise.modes_apart is not None and smallest > usable_effect(policy.min_effect):
        return (
            f"{boots} fall into two modes {whole_percent(noise.modes_apart)} apart: "
            f"changes below {whole_percent(smallest)} are not visible"
        )
    return ""


def _quiet(segment: Sequence[Image], policy: JudgePolicy) -> str:
    position = segment[-1].position
    new = [image for image in segment if image.position == position]
    old = [image.level for image in segment if image.position < position]
    if not old:
        return "no earlier sample at this level exists"
    stands_out = abs(new[0].level - fmean(old)) >= change_in_logs(policy.min_effect)
    if stands_out and is_layout(new, fmean(old)):
        return in_words(new, fmean(old))
    return "the change is within the noise of runs and builds"


def _doubt(finding: Finding, noise: Noise, policy: JudgePolicy) -> str:
    if finding.is_layout:
        return in_words(finding.new, finding.old_level)
    effect, _, _ = finding.interval
    suspected, boots = f"{percent(effect)} was suspected", f"{policy.item.iteration}s"
    if is_denied(finding, noise, policy):
        return f"{suspected}. Fresh {boots} of both sides do not show it"
    return f"{suspected}. More {boots} cannot separate it from noise"
