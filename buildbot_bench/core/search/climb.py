"""Posteriors over ladders of noise hypotheses, from a likely rung to negligible ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

from buildbot_bench.core.search.noise_model import Hypothesis
from buildbot_bench.core.search.posterior import Posterior, PriorModel
from buildbot_bench.core.search.readings import Readings
from buildbot_bench.core.search.screen import quick_scores

# Hypotheses whose posterior is this much (in ln) below the best one's are forgotten.
NEGLIGIBLE = 7.0
# A quick score may be off by so much, and by one level's uncertainty for each measured kernel.
QUICK_ERROR = 10.0
# A ladder that starts this far below the best is not climbed.
_HOPELESS = 14.0
# Values from which on hypotheses are screened; below, so many values times hypotheses are weighed
# together: all rungs of a ladder of so few, before it is known whether they are climbed. Measured.
_MANY_VALUES, _VALUES_AT_ONCE, _SHORT = 48, 500, 5

Ladder = list[Hypothesis]


@dataclass(kw_only=True, slots=True)
class Climber:
    """The posteriors under hypotheses of the noise, each computed once, or not if negligible."""

    prior_model: PriorModel
    readings: Readings
    _known: dict[Hypothesis, Posterior] = field(default_factory=dict)

    @property
    def _has_many(self) -> bool:
        return len(self.readings.values) >= _MANY_VALUES

    def climb(self, ladders: Sequence[tuple[Ladder, int | None]]) -> list[Posterior]:
        """Climb each ladder from its rung.

        Where that is None, from the likeliest before anything is measured, and ladders that follow
        from the one that was best on the ladder before.
        """
        starts = [self._first(ladder) if start is None else start for ladder, start in ladders]
        if not self._has_many:
            self.all([one for ladder, _ in ladders if len(ladder) <= _SHORT for one in ladder])
        found: dict[Hypothesis, Posterior] = {}
        before: int | None = None
        for (ladder, start), likeliest in zip(ladders, starts, strict=True):
            first = likeliest if start is not None or before is None else before
            best = max(found.values(), key=lambda one: one.score, default=None)
            if best is not None and self._is_negligible(ladder[first], best):
                continue
            hope = -float("inf") if best is None else best.score - _HOPELESS
            climbed = self._climb(ladder, first, hope)
            before = ladder.index(max(climbed, key=lambda one: climbed[one].score))
            found |= climbed
        return list(found.values())

    def _first(self, ladder: Ladder) -> int:
        """The rung of a given run noise; else the likeliest before anything is measured."""
        told = self.prior_model.policy.sigma_run
        if told is None:
            return max(range(len(ladder)), key=lambda rung: ladder[rung].weight)
        return min(range(len(ladder)), key=lambda rung: abs(ladder[rung].noise.run - told))

    def all(self, hypotheses: Sequence[Hypothesis]) -> list[Posterior]:
        """The posteriors under several."""
        new = [one for one in hypotheses if one not in self._known]
        together = max(_VALUES_AT_ONCE // len(self.readings.values), 1)
        for first in range(0, len(new), together):
            some = new[first : first + together]
            found = self.prior_model.given(self.readings, some)
            self._known.update(zip(some, found, strict=True))
        return [self._known[one] for one in hypotheses]

    def _climb(self, ladder: Ladder, start: int, hope: float) -> dict[Hypothesis, Posterior]:
        """From the rung `start` outward, both ways; nothing but it, when it is below `hope`."""
        (first,) = self.all([ladder[start]])
        climbed = {ladder[start]: first}
        if first.score < hope:
            return climbed
        for rungs in (ladder[start + 1 :], ladder[:start][::-1]):
            best = first
            for rung in rungs:
                if self._is_negligible(rung, best):
                    break
                (one,) = self.all([rung])
                climbed[rung] = one
                best = max(best, one, key=lambda other: other.score)
                if one.score < best.score - NEGLIGIBLE:
                    break
        return climbed

    def _is_negligible(self, hypothesis: Hypothesis, best: Posterior) -> bool:
        """Whether it is surely so much less likely than another, for all that a quick score says.

        The levels that the other found fit it best; under this one there may be others, each worth
        as much as one's uncertainty is more or less.
        """
        if not self._has_many or hypothesis in self._known:
            return False
        level = best.levels().mean
        score, other = quick_scores(self.readings, [hypothesis, best.hypothesis], level)
        ratio = abs(log(hypothesis.noise.total / best.noise.total))
        error = QUICK_ERROR + len(self.readings.kernels) * ratio
        return bool(score < other - NEGLIGIBLE - error)
