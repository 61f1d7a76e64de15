"""Searches without a farm on the displays of the farm's command, and what they will take."""

from dataclasses import asdict, replace
from statistics import median

from buildbot_bench.api.answers import (
    ForecastAsked,
    ForecastShown,
    ForecastSpread,
    Nouns,
    ProbeShown,
    ProbeState,
    RevisionShown,
    SearchShown,
    SearchState,
    SuspectShown,
)
from buildbot_bench.cli.console import ExitStatus, LineView, View, answer
from buildbot_bench.cli.live import SearchSeen
from buildbot_bench.cli.wording import cost_text, forecast_text
from buildbot_bench.core.figures import hours_text
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.report.related import expected_inside
from buildbot_bench.core.report.words import count
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.search import Forecast, forecast
from buildbot_bench.local.bench import EPOCH, Bench
from buildbot_bench.local.bisecting import SearchCourse
from buildbot_bench.local.campaign import LocalSearch, coarse_value
from buildbot_bench.local.comparing import LocalComparison
from buildbot_bench.local.known import ASSUMED_RUN_S, Known
from buildbot_bench.local.reports import OF_OTHERS, machine, probe_records

_HOUR_S = 3600.0


def search_expected(search: LocalSearch, known: Known, *, as_json: bool) -> int:
    """Tell what a search still takes, by what is known of it already."""
    assumed = (
        ""
        if any(one.value is not None for one in known.iterations)
        else _assumed(known.costs.build_s, known.costs.run_s)
    )
    workload, min_effect = search.campaign.workload, search.terms.min_effect
    coarse = coarse_value(workload, known.iterations, min_effect)
    inside = expected_inside(search.merges, known.between.n, known.costs, known.policy)
    expected = forecast(known.between.n, known.costs, known.policy, evidence=known.evidence)
    told = forecast_of(
        search,
        known,
        expected,
        known_iterations=len(known.iterations),
        warnings=tuple(said for said in (assumed, coarse, inside) if said),
    )
    item = ItemUnderTest.COMMAND
    value = asdict(told) | {"iteration": item.iteration}
    answer(forecast_text(told, item), value, as_json=as_json)
    return ExitStatus.ANSWERED


def comparison_expected(question: LocalComparison, bench: Bench, *, as_json: bool) -> int:
    """Tell how many runs and builds a comparison still takes, with the first image of each."""
    shas = {one.revision.sha for one in question.variants}
    images = {row.id: row for row in bench.images() if row.sha in shas}
    runs = [one for one in bench.iterations() if one.value is not None and one.image_id in images]
    run_s = median(one.duration_s for one in runs) if runs else ASSUMED_RUN_S
    took = [row.build_s for row in images.values()]
    build_s = median(took) if took else bench.assumed_build_s()
    built = {row.sha for row in images.values() if not row.ordinal and bench.has(row)}
    done = {
        sha: sum(images[one.image_id].sha == sha and one.epoch == EPOCH for one in runs)
        for sha in shas
    }
    left = sum(max(question.limits.boots - number, 0) for number in done.values())
    builds = len(shas - built) if bench.campaign.recipe.steps else 0
    hours = (left * run_s + builds * build_s) / _HOUR_S
    lines = [
        f"{one.label}  {one.revision.short_sha}  {one.revision.subject}"
        for one in question.variants
    ]
    more = f"{count(left, 'run')} and {count(builds, 'build')} more, about {hours_text(hours)}"
    lines.append(f"{more}; {count(len(runs), 'run')} known already")
    if bench.campaign.recipe.steps and question.limits.images > 1:
        lines.append(
            f"where the build heeds BENCH_IMAGE, up to {question.limits.images} images of each"
        )
    if not runs:
        lines.append(_assumed(build_s, run_s))
    if coarse := coarse_value(bench.campaign.workload, runs, question.min_effect):
        lines.append(coarse)
    told = {
        "runs": left,
        "builds": builds,
        "hours": hours,
        "known_runs": len(runs),
        "images": question.limits.images,
        "warnings": [coarse] if coarse else [],
    }
    answer("\n".join(lines), told, as_json=as_json)
    return ExitStatus.ANSWERED


def _assumed(build_s: float, run_s: float) -> str:
    return f"assumed until there is one: a build takes {build_s:.3g} s, a run {run_s:.3g} s"


_NOT_YET = 0  # no run has this number


class LocalView:
    """Has a view show a search; as lines, only what is new since it began."""

    def __init__(self, view: View[SearchSeen]) -> None:
        self._view = view
        self._only_new = isinstance(view, LineView)
        self._known: int | None = None
        self._forecast: ForecastShown | None = None
        self._left: Forecast | None = None
        self._search: LocalSearch | None = None

    def show(self, course: SearchCourse) -> None:
        """Show the search as it stands now; one inside a merge is another search."""
        if course.search is not self._search:
            self._search, self._known, self._forecast = course.search, None, None
            self._left = None
        probes = _probes(course)
        if self._known is None:
            self._known = len(course.known.iterations)
            if self._known:
                self.notice(f"{self._known} runs are known already and not repeated")
        if course.forecast is not None and course.forecast is not self._left:
            self._left = course.forecast
            inside = expected_inside(
                course.search.merges,
                course.known.between.n,
                course.known.costs,
                course.known.policy,
            )
            told = forecast_of(
                course.search,
                course.known,
                course.forecast,
                warnings=(inside,) if inside else (),
            )
            before = self._forecast
            self._forecast = _from_the_beginning(told, len(course.known.iterations))
            text = forecast_text(told, ItemUnderTest.COMMAND)
            if before is not None:
                runs = f"{before.iterations.median:.0f} to {self._forecast.iterations.median:.0f}"
                left = cost_text(told, ItemUnderTest.COMMAND)
                text = f"the forecast changes from {runs} runs in all; these are left:\n{left}"
            self.notice(text)
        shown = [one for one in probes if one.serial > self._known] if self._only_new else probes
        self._view.show(SearchSeen(search=_search(course, self._forecast), probes=shown))

    def notice(self, message: str) -> None:
        """Something that a person should know, said once."""
        self._view.notice(message)


def _search(course: SearchCourse, expected: ForecastShown | None) -> SearchShown:
    known = course.known
    revisions = known.between.revisions
    return SearchShown(
        searchid=course.search_id,
        state=SearchState.RUNNING,
        testbed=machine(),
        workload=course.search.campaign.name,
        old=_end(known.between.old),
        new=_end(known.between.new),
        commits=known.between.n,
        iterations_done=len(known.iterations),
        images_built=sum(1 for image in known.images.values() if image.row and image.ordinal >= 0),
        forecast=expected,
        suspects=tuple(
            SuspectShown(
                old=revisions[one.old].label,
                new=revisions[one.new].label,
                probability=one.probability,
                effect=one.effect,
            )
            for one in course.suspects
        ),
        now=course.now,
        created_at=0.0,
        nouns=Nouns(**ItemUnderTest.COMMAND.nouns),
    )


def _end(revision: Revision) -> RevisionShown:
    return RevisionShown(**shared(RevisionShown, revision))


def forecast_of(
    search: LocalSearch,
    known: Known,
    left: Forecast,
    *,
    known_iterations: int = 0,
    warnings: tuple[str, ...] = (),
) -> ForecastAsked:
    """What is left of a search, in the form that the farm's command gets."""
    return ForecastAsked(
        old=_end(known.between.old),
        new=_end(known.between.new),
        commits=known.between.n,
        testbed=machine(),
        workload=search.campaign.name,
        images=ForecastSpread(median=left.images[0], p90=left.images[1]),
        iterations=ForecastSpread(median=left.iterations[0], p90=left.iterations[1]),
        hours=ForecastSpread(median=left.hours[0], p90=left.hours[1]),
        known_iterations=known_iterations,
        warnings=warnings,
    )


def _from_the_beginning(left: ForecastAsked, done: int) -> ForecastAsked:
    """What was left when `done` runs were known, with these in it: a search here counts them."""
    runs, hours = left.iterations, left.hours
    longer = 1 + done / runs.median if runs.median else 1.0
    return replace(
        left,
        iterations=ForecastSpread(median=runs.median + done, p90=runs.p90 + done),
        hours=ForecastSpread(median=hours.median * longer, p90=hours.p90 * longer),
    )


def _probes(course: SearchCourse) -> list[ProbeShown]:
    known = course.known
    places = {one.label: one.position for one in known.between.revisions}
    probes = [
        ProbeShown(
            probeid=one.serial,
            serial=one.serial,
            label=one.label,
            position=places[one.label.removesuffix(OF_OTHERS)],
            image=one.image,
            state=ProbeState.LOST if one.value is None else ProbeState.DONE,
            values=() if one.value is None else (one.value,),
            unit=one.unit,
            failure=one.failure,
            at=one.at_s,
        )
        for one in probe_records(known)
    ]
    if course.place is not None:
        position, image = course.place
        revision = known.between.revisions[position]
        probes.append(
            ProbeShown(
                probeid=_NOT_YET,
                serial=len(probes) + 1,
                label=revision.label,
                position=revision.position,
                image=image,
                state=ProbeState.ISSUED,
            )
        )
    return probes
