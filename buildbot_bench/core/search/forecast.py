"""The forecast of a search's images, boots and hours, by rehearsals on sampled truths."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize
from scipy.special import stdtr

from buildbot_bench.core.search.kinds import plan
from buildbot_bench.core.search.model import (
    PREBUILT,
    Answer,
    Costs,
    Evidence,
    Forecast,
    Measurement,
    SearchPolicy,
)
from buildbot_bench.core.search.rehearsal import Course, Question, rehearse
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.search.truths import Truth, truths

# Decisions of a short search, about 8 ms each; a rehearsal that began is ended. For two seconds.
_EFFORT = 80.0
_FEWEST, _MOST = 5, 16  # rehearsals
_NINE_OF_TEN = 0.9
# Values of an image, and of all, that rehearsals begin with.
_MOST_OF_IMAGE, _LEAST_OF_IMAGE, _MOST_VALUES = 16, 2, 160
# Searches differ by about this much (in ln) where the rehearsals are too few to tell: so many of
# them weigh as much.
_SPREAD, _SPREAD_WEIGHT = 0.25, 4.0
_BEYOND = 6.0  # spreads; what lies further off does not come


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """What was supposed, and what a search of it took."""

    truth: Truth
    course: Course


def forecast(
    n: int, costs: Costs, policy: SearchPolicy, evidence: Evidence | None = None
) -> Forecast:
    """Images, iterations and hours that the search still takes, as median and 90 %.

    All zero when the evidence answers already. Raises UsageError as `plan` does.
    """
    known = evidence or Evidence()
    first = plan(n, known, costs, policy)
    if isinstance(first, Answer):
        return Forecast(images=(0.0, 0.0), iterations=(0.0, 0.0), hours=(0.0, 0.0))
    question = Question(n=n, costs=costs, policy=policy, evidence=thinned(known), first=first)
    rehearsals = _rehearsals(question)
    return Forecast(
        images=quantiles(rehearsals, "images"),
        iterations=quantiles(rehearsals, "iterations"),
        hours=quantiles(rehearsals, "hours"),
    )


def _rehearsals(question: Question) -> list[Rehearsal]:
    """Rehearsals, as many as the effort allows."""
    search_range = build_range(question.n, question.evidence, question.policy)
    done: list[Rehearsal] = []
    effort = 0.0
    own = tuple(m for m in question.evidence.measurements if m.image != PREBUILT)
    drawn = truths(search_range, replace(question.evidence, measurements=own), question.policy)
    for number, truth in enumerate(drawn):
        done.append(Rehearsal(truth=truth, course=rehearse(question, truth, number)))
        effort += done[-1].course.effort
        if len(done) >= _MOST or (len(done) >= _FEWEST and effort >= _EFFORT):
            break
    return done


def thinned(evidence: Evidence) -> Evidence:
    """As much as a forecast needs: of images with many boots some, evenly over their time.

    The level of an image is known to a quarter of the run noise by sixteen of them; where the
    evidence has more images, two of each are left at least.
    """
    of: dict[tuple[int, int], list[Measurement]] = {}
    for m in evidence.measurements:
        of.setdefault((m.position, m.image), []).append(m)
    most = max(min(_MOST_OF_IMAGE, _MOST_VALUES // max(len(of), 1)), _LEAST_OF_IMAGE)
    kept = {id(one) for here in of.values() for one in _evenly(here, most)}
    return replace(evidence, measurements=tuple(m for m in evidence.measurements if id(m) in kept))


def _evenly(boots: list[Measurement], most: int) -> list[Measurement]:
    if len(boots) <= most:
        return boots
    ordered = sorted(boots, key=lambda m: m.at_s)
    return [ordered[round(i)] for i in np.linspace(0, len(ordered) - 1, most)]


def quantiles(rehearsals: list[Rehearsal], of: str) -> tuple[float, float]:
    """The median, and what nine of ten stay below, of a figure of the courses.

    Those of one kind are taken as lognormal, all with the spread that they have within kinds.
    What another one of its kind takes is then a Student's t in ln (Gelman et al., Bayesian Data
    Analysis, 3.2); what is forecast is the mixture of the kinds, each as likely as it is.
    """
    values: dict[int, list[float]] = {}
    weights: dict[int, float] = {}
    drawn = Counter(one.truth.stratum for one in rehearsals)
    for one in rehearsals:
        kind = one.truth.kind
        values.setdefault(kind, []).append(float(getattr(one.course, of)))
        weights[kind] = weights.get(kind, 0.0) + one.truth.share / drawn[one.truth.stratum]
    every = np.concatenate(list(values.values()))
    if not every.all():
        return float(np.median(every)), float(every.max())
    logs = [np.log(here) for here in values.values()]
    middle = np.array([here.mean() for here in logs])
    squares = sum(float(((here - here.mean()) ** 2).sum()) for here in logs)
    df = len(every) - len(logs) + _SPREAD_WEIGHT
    variance = (squares + _SPREAD_WEIGHT * _SPREAD**2) / df
    scale = np.sqrt(variance * (1 + 1 / np.array([len(here) for here in logs])))
    weight = np.array(list(weights.values())) / sum(weights.values())
    low, high = middle.min() - _BEYOND * scale.max(), middle.max() + _BEYOND * scale.max()

    def below(log_value: float, share: float) -> float:
        return float(weight @ stdtr(df, (log_value - middle) / scale)) - share

    median, most = (
        float(np.exp(optimize.brentq(below, low, high, args=(share,))))
        for share in (0.5, _NINE_OF_TEN)
    )
    return median, most
