"""The display of a search without a farm, by the displays of the farm's command."""

from dataclasses import replace

from buildbot_bench.api.answers import (
    ForecastAsked,
    ForecastShown,
    ForecastSpread,
    Nouns,
    ProbeShown,
    RevisionShown,
    SearchShown,
    SuspectShown,
)
from buildbot_bench.api.states import ProbeState, SearchState
from buildbot_bench.cli.console import LineView, View
from buildbot_bench.cli.live import SearchSeen
from buildbot_bench.cli.wording import cost_text, forecast_text
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.inside import expected_inside
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.search import Forecast
from buildbot_bench.core.shared_fields import shared
from buildbot_bench.local.bisecting import SearchCourse
from buildbot_bench.local.campaign import LocalSearch
from buildbot_bench.local.known import Known
from buildbot_bench.local.reports import OF_OTHERS, machine, probe_records

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
