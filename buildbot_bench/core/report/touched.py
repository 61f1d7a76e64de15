"""Sentences on a search's prior, by the files that its commits touch."""

from collections.abc import Iterator, Mapping

from buildbot_bench.core.figures import count, whole_percent
from buildbot_bench.core.report.evidence_model import Touched
from buildbot_bench.core.report.model import Setting
from buildbot_bench.core.touched import CommitPrior, Touch, TouchClass


def describe_prior(
    prior: CommitPrior | None, setting: Setting, suspects: Mapping[int, str]
) -> Touched | None:
    """The sentences on a prior; None without one, and where there is one commit to choose from.

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
        reasons.append(f"{label} changes {_what(suspect, setting)}.")
    return Touched(classes=prior.classes, suspect=suspect, reasons=tuple(reasons))


def _counts(prior: CommitPrior, setting: Setting) -> str:
    touches = prior.touches
    runs = touches.count(Touch.RUNS)
    built = runs + touches.count(Touch.BUILT)
    verb = "changes" if built == 1 else "change"
    text = f"{built:,} of {count(len(touches), 'commit')} {verb} {_source(setting)}."
    if not prior.ran:
        return text
    verb = "changes" if runs == 1 else "change"
    return f"{text} {runs:,} of them {verb} code that {setting.workload} executes."


def _shares(prior: CommitPrior) -> Iterator[str]:
    """Nothing where the prior is the same for all commits."""
    classes = [one for one in prior.classes if one.commits]
    if len(classes) <= 1:
        return
    parts = [f"{whole_percent(one.share)} on {_these(one, ran=prior.ran)}" for one in classes]
    parts[-1] = f"and {parts[-1]}"
    yield f"The search began with this suspicion: {', '.join(parts)}."
    yield "Half of the suspicion is the same for each commit."


def _these(one: TouchClass, *, ran: bool) -> str:
    commits = f"the {count(one.commits, 'commit')}" if one.commits > 1 else "the one commit"
    verb = "change" if one.commits > 1 else "changes"
    match one.touch:
        case Touch.RUNS:
            return f"{commits} that {verb} executed code"
        case Touch.BUILT:
            return f"{commits} that {verb} {'other ' if ran else ''}built files"
        case Touch.NEITHER:
            return f"{commits} that {verb} neither"


def _source(setting: Setting) -> str:
    return f"files that the {setting.item.built} is built from"


def _what(touch: Touch, setting: Setting) -> str:
    match touch:
        case Touch.RUNS:
            return f"code that {setting.workload} executes"
        case Touch.BUILT:
            return _source(setting)
        case Touch.NEITHER:
            return f"none of the {_source(setting)}. Check it twice"
