"""What a reader is told of the prior of a search: what its commits touch; it weighs none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from buildbot_bench.core.report.evidence_model import Touched
from buildbot_bench.core.report.model import Setting
from buildbot_bench.core.report.words import count
from buildbot_bench.core.touched import CommitPrior, Touch, TouchClass


def describe_prior(
    prior: CommitPrior | None, setting: Setting, suspects: Mapping[int, str]
) -> Touched | None:
    """What is told of a prior; None without one, and where there is one commit to choose from.

    `suspects` are the labels of the headline's suspects by their positions in the range.
    """
    if prior is None or len(prior.touches) <= 1:
        return None
    suspect, label = None, ""
    if len(suspects) == 1:
        ((position, label),) = suspects.items()
        suspect = prior.touches[position - 1]
    reasons = [_counts(prior, setting), *_shares(prior)]
    if suspect is not None:
        reasons.append(f"{label} touches {_what(suspect, setting)}.")
    return Touched(classes=prior.classes, suspect=suspect, reasons=tuple(reasons))


def _counts(prior: CommitPrior, setting: Setting) -> str:
    touches = prior.touches
    runs = touches.count(Touch.RUNS)
    built = runs + touches.count(Touch.BUILT)
    verb = "touches" if built == 1 else "touch"
    what = f"what the {setting.item.built} is built from"
    text = f"{built} of {count(len(touches), 'commit')} {verb} {what}"
    return f"{text}; {runs} what {setting.workload} executes." if prior.ran else f"{text}."


def _shares(prior: CommitPrior) -> Iterator[str]:
    """Nothing where the prior tells no commits apart."""
    classes = [one for one in prior.classes if one.commits]
    if len(classes) <= 1:
        return
    first, *others = [f"{_percent(one.share)} on {_these(one, ran=prior.ran)}" for one in classes]
    share, _, where = first.partition(" ")
    others[-1] = f"and {others[-1]}"
    told = ", ".join([f"{share} of the search's prior lay {where}", *others])
    yield f"{told}; half of it is spread evenly."


def _these(one: TouchClass, *, ran: bool) -> str:
    those = f"the {one.commits} that touch" if one.commits > 1 else "the one that touches"
    match one.touch:
        case Touch.RUNS:
            return f"{those} what runs"
        case Touch.BUILT:
            return f"{those} what {'else ' if ran else ''}is built"
        case Touch.NEITHER:
            return f"{those} neither"


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _what(touch: Touch, setting: Setting) -> str:
    match touch:
        case Touch.RUNS:
            return f"what {setting.workload} executes"
        case Touch.BUILT:
            return f"what the {setting.item.built} is built from"
        case Touch.NEITHER:
            return f"nothing that the {setting.item.built} is built from: look twice"
