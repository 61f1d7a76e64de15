"""A local search from its question to its answer, as `plan` directs."""

from dataclasses import dataclass, replace
from functools import lru_cache

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import is_alike, usable_image
from buildbot_bench.core.figures import count, sureness, threshold
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.words import duration
from buildbot_bench.core.search import (
    PREBUILT,
    Answer,
    Costs,
    Evidence,
    Forecast,
    Measure,
    SearchPolicy,
    Suspect,
    answer_early,
    forecast,
    no_change,
    noise_structure,
    plan,
    suspects,
)
from buildbot_bench.core.search import meanwhile as worth_meanwhile
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.campaign import LocalSearch, Watcher, coarse_value
from buildbot_bench.local.known import SKIPPED, Known

_PLANS_KEPT = 4
_LINES_SHOWN = 5  # of what a build printed that failed
# A forecast takes two seconds and more: a search that is over before this needs none.
_FORECAST_FROM_S = 5.0
_FORECAST_AGAIN = 2  # times the runs, or what was forecast: then it is forecast or said anew
_RUNS_THAT_TELL = 30
_PROBABLY, _EVEN = 0.9, 0.5  # probabilities that nothing changed


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCourse:
    """A search as it stands: `now` is what is done, of the image at `place` if of one."""

    search_id: int
    search: LocalSearch
    known: Known
    suspects: tuple[Suspect, ...] = ()
    forecast: Forecast | None = None
    now: str = ""
    place: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The answer, and what was known then."""

    search_id: int
    answer: Answer
    known: Known


class Bisection:
    """One search on a bench."""

    def __init__(self, search: LocalSearch, bench: Bench, onlooker: Watcher[SearchCourse]) -> None:
        self._search, self._bench, self._onlooker = search, bench, onlooker
        self._plan = lru_cache(maxsize=_PLANS_KEPT)(plan)
        self._forecast_at, self._runs, self._is_nothing = 0, 0.0, False
        self._structure = ""
        self._course = SearchCourse(search_id=bench.id, search=search, known=self.known())

    def known(self) -> Known:
        """All that is known of the range by now."""
        return self._bench.known(self._search)

    def run(self) -> Found:
        """Build and measure until the evidence answers.

        Raises UsageError: an end of the range does not build or run. Raises InfraError: the
        machine or the command keeps it from going on.
        """
        self._forget_failures()
        workload, min_effect = self._search.campaign.workload, self._search.terms.min_effect
        if coarse := coarse_value(workload, self._bench.iterations(), min_effect):
            self._onlooker.notice(coarse)
        while True:
            self._bench.harvest()
            for told in self._bench.notices():
                self._onlooker.notice(told)
            known = self.known()
            self._refuse_bad_ends(known)
            decision = self._plan(known.between.n, known.evidence, known.costs, known.policy)
            if isinstance(decision, Measure) and self._bench.is_spent(self._search.budget_s):
                decision = self._early(known)
            match decision:
                case Measure():
                    self._look(known)
                    self._measure(known, decision)
                case Answer():
                    self._show(known=known, now="", place=None, suspects=())
                    return Found(search_id=self._bench.id, answer=decision, known=known)

    def _measure(self, known: Known, wanted: Measure) -> None:
        """One run of what the plan wants, once it is built; meanwhile of what tells something."""
        wanted = replace(
            wanted, image=usable_image(wanted, known.at(wanted.position), known.samples)
        )
        revision = known.between.revisions[wanted.position]
        self._show(now=f"building {_named(known, wanted)}", place=(wanted.position, wanted.image))
        is_awaited = self._bench.begin(revision, wanted.image)
        self._bench.build_ahead((known.between.revisions[place], 0) for place in wanted.prefetch)
        if is_awaited:
            extra = self._meanwhile(known, wanted)
            if extra is None:
                self._bench.await_build()
                return
            wanted = extra
        self._boot(known, wanted)

    def _boot(self, known: Known, wanted: Measure) -> None:
        revision = known.between.revisions[wanted.position]
        image = self._bench.image(revision.sha, wanted.image)
        first = self._bench.image(revision.sha, 0)
        if image is None or image.reason is not None:
            self._tell_failure(known, wanted, image.reason if image else None)
            return
        if first is not None and is_alike(image, first):
            self._onlooker.notice(
                f"{revision.label}: a build with BENCH_IMAGE={wanted.image} is the same as without"
            )
            return
        self._show(now=f"measuring {_named(known, wanted)}", place=(wanted.position, wanted.image))
        self._bench.measure(image, self._onlooker.notice)

    def _meanwhile(self, known: Known, wanted: Measure) -> Measure | None:
        """What is built already and tells something, while a build is waited for."""
        extra = worth_meanwhile(
            known.between.n,
            known.evidence,
            known.costs,
            known.policy,
            ((wanted.position, wanted.image),),
        )
        if extra is None:
            return None
        image = known.images.get((extra.position, extra.image))
        return extra if image is not None and image.is_built else None

    def _forget_failures(self) -> None:
        """Try again what is asked for, and an end: the command may have been to blame."""
        known = self.known()
        shas = [
            known.between.revisions[place].sha
            for place in {0, known.between.n} | self._search.again
            if (image := known.images.get((place, 0))) and image.reason and image.row
        ]
        if shas:
            for recipe in self._search.campaign.recipe.digests:
                self._bench.store.forget_failures(self._bench.id, recipe, shas)

    def _refuse_bad_ends(self, known: Known) -> None:
        """See that both ends can be measured, or are to be skipped."""
        for place, name in ((0, "OLD"), (known.between.n, "NEW")):
            image = known.images.get((place, 0))
            if image is None or not image.reason or image.reason == SKIPPED:
                continue
            revision = known.between.revisions[place]
            raise UsageError(
                f"{name}, {revision.label} ({revision.short_sha}), cannot be measured: "
                f"{image.reason}",
                hint="correct --build or --run, name another end, "
                f"or search without it: --skip {revision.short_sha}",
            )

    def _tell_failure(self, known: Known, wanted: Measure, reason: str | None) -> None:
        if reason is not None:
            said, *output = f"{_named(known, wanted)}: {reason}".splitlines()
            lines = (f"  | {one_line(line)}" for line in output[-_LINES_SHOWN:])
            self._onlooker.notice("\n".join((one_line(said), *lines)))

    def _early(self, known: Known) -> Answer:
        """The answer when the budget is spent."""
        runs, budget = count(len(known.iterations), "run"), duration(self._search.budget_s or 0.0)
        reason = f"the budget of {budget} is spent, after {runs}; the same command goes on"
        return answer_early(*_question(known), reason)

    def _look(self, known: Known) -> None:
        """Show what is suspected now, and, once both ends are measured, what it will take.

        What it takes is forecast once the command has taken some time, and again each time that the
        runs have doubled.
        """
        found = suspects(*_question(known))
        expected, done = self._course.forecast, len(known.iterations)
        ends = {0, known.between.n} <= {s.position for s in known.samples}
        ends = ends and self._bench.is_spent(_FORECAST_FROM_S)
        if ends and done >= _FORECAST_AGAIN * self._forecast_at:
            self._forecast_at = done
            self._show(known=known, suspects=found, now="weighing what it will take", place=None)
            now = forecast(known.between.n, known.costs, known.policy, evidence=known.evidence)
            runs = done + now.iterations[0]
            if expected is None or max(runs, self._runs) >= _FORECAST_AGAIN * min(runs, self._runs):
                expected, self._runs = now, runs
        self._show(known=known, suspects=found, forecast=expected)
        self._tell_nothing(known)
        self._tell_structure(known)

    def _tell_nothing(self, known: Known) -> None:
        """Say once that there is probably nothing, and once that a change is likelier again."""
        chance = no_change(*_question(known))
        if not self._is_nothing and chance >= _PROBABLY:
            self._is_nothing = True
            least = threshold(self._search.terms.min_effect)
            self._onlooker.notice(
                f"probably nothing here: with {sureness(chance)} nothing changes by {least} or more"
            )
        elif self._is_nothing and chance < _EVEN:
            self._is_nothing = False
            self._onlooker.notice("there is likelier a change than none after all")

    def _tell_structure(self, known: Known) -> None:
        """Say once what structure the noise has, when there are runs enough to tell."""
        if not self._structure and len(known.iterations) >= _RUNS_THAT_TELL:
            self._structure = noise_structure(*_question(known))
            if self._structure:
                self._onlooker.notice(self._structure)

    def _show(self, **changed: object) -> None:
        self._course = replace(self._course, **changed)  # type: ignore[arg-type]
        self._onlooker.show(self._course)


def _question(known: Known) -> tuple[int, Evidence, Costs, SearchPolicy]:
    return known.between.n, known.evidence, known.costs, known.policy


def _named(known: Known, wanted: Measure) -> str:
    label = known.between.revisions[wanted.position].label
    of_others = f"{label} as others built it"
    own = f"{label}, build {wanted.image}" if wanted.image else label
    return of_others if wanted.image == PREBUILT else own
