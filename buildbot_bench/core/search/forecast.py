"""What a search will cost, told before it starts or while it runs, by rehearsing its decisions.

Half a dozen truths are drawn from today's evidence, and each is searched by `plan` to its answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from buildbot_bench.core.search.model import (
    Answer,
    Costs,
    Evidence,
    Forecast,
    Measurement,
    SearchPolicy,
)
from buildbot_bench.core.search.planner import plan
from buildbot_bench.core.search.rehearsal import Course, Question, rehearse
from buildbot_bench.core.search.search_range import FloatArray, build_range
from buildbot_bench.core.search.truths import truths

# Decisions of a short search, about 8 ms each; a rehearsal that began is ended. For two seconds.
_EFFORT = 55.0
_FEWEST, _MOST = 3, 16  # rehearsals
_NINE_OF_TEN = 0.9
# Values of an image, and of all, that rehearsals begin with.
_MOST_OF_IMAGE, _LEAST_OF_IMAGE, _MOST_VALUES = 16, 2, 160
# Searches differ by about this much (in ln) where the rehearsals are too few to tell: so many of
# them weigh as much.
_SPREAD, _SPREAD_WEIGHT = 0.35, 4.0


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
    courses = _courses(question)
    return Forecast(
        images=_quantiles(np.array([float(one.images) for one in courses])),
        iterations=_quantiles(np.array([float(one.iterations) for one in courses])),
        hours=_quantiles(np.array([one.hours for one in courses])),
    )


def _courses(question: Question) -> list[Course]:
    """Rehearsals, as many as the effort allows."""
    search_range = build_range(question.n, question.evidence, question.policy)
    courses: list[Course] = []
    effort = 0.0
    drawn = truths(search_range, question.evidence, question.policy)
    for number, truth in enumerate(drawn):
        courses.append(rehearse(question, truth, number))
        effort += courses[-1].effort
        if len(courses) >= _MOST or (len(courses) >= _FEWEST and effort >= _EFFORT):
            break
    return courses


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


def _quantiles(values: FloatArray) -> tuple[float, float]:
    """The median, and what nine of ten stay below.

    The median is Harrell and Davis's (Biometrika 69, 1982), the mean of order statistics with the
    weights of Beta((K + 1) / 2, (K + 1) / 2). Beyond it, logarithms are taken as normal with the
    spread of the larger half; as they are few, by Student's t.
    """
    if not values.all():
        return float(np.median(values)), float(values.max())
    ordered = np.log(np.sort(values))
    count = len(ordered)
    cuts = stats.beta.cdf(np.arange(count + 1) / count, (count + 1) / 2, (count + 1) / 2)
    middle = float(np.diff(cuts) @ ordered)
    above = ordered[ordered > middle] - middle
    squares = float(above @ above) + _SPREAD_WEIGHT * _SPREAD**2
    df = len(above) + _SPREAD_WEIGHT
    spread = (squares / df) ** 0.5 * float(stats.t.ppf(_NINE_OF_TEN, df))
    return float(np.exp(middle)), float(np.exp(middle + spread))
