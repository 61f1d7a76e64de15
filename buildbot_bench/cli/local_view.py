"""Shows a search without a farm by the displays of the farm's command."""

from __future__ import annotations

from buildbot_bench.cli.answers import (
    End,
    ForecastSpread,
    RemoteForecast,
    RemoteProbe,
    RemoteProbeState,
    RemoteSearch,
    RemoteSearchState,
    RemoteSuspect,
)
from buildbot_bench.cli.progress import Display
from buildbot_bench.cli.wording import forecast_text
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.search import Forecast
from buildbot_bench.local.bisecting import SearchCourse
from buildbot_bench.local.reports import machine, probe_records

_NOT_YET = 0  # no run has this number


class LocalView:
    """Has a display show a search; on one that shows lines, only what is `new` since it began."""

    def __init__(self, display: Display, *, only_new: bool) -> None:
        self._display = display
        self._only_new = only_new
        self._known: int | None = None
        self._forecast: Forecast | None = None

    def look(self, course: SearchCourse) -> None:
        """The search as it stands now."""
        probes = _probes(course)
        if self._known is None:
            self._known = len(course.known.iterations)
            if self._known:
                self.notice(f"{self._known} runs are known already and not repeated")
        if course.forecast is not None and self._forecast is None:
            self._forecast = course.forecast
            self.notice(forecast_text(_forecast(course, course.forecast)))
        shown = [one for one in probes if one.serial > self._known] if self._only_new else probes
        self._display.show(_search(course), shown)

    def notice(self, message: str) -> None:
        """Something that a person should know, said once."""
        self._display.notice(message)


def _search(course: SearchCourse) -> RemoteSearch:
    known = course.known
    revisions = known.between.revisions
    return RemoteSearch(
        search_id=course.search_id,
        state=RemoteSearchState.RUNNING,
        testbed=machine(),
        workload=course.search.campaign.name,
        old=_end(known.between.old),
        new=_end(known.between.new),
        commits=known.between.n,
        iterations_done=len(known.iterations),
        images_built=sum(1 for image in known.images.values() if image.row),
        forecast=_forecast(course, course.forecast) if course.forecast else None,
        suspects=tuple(
            RemoteSuspect(
                old=revisions[one.old].label,
                new=revisions[one.new].label,
                probability=one.probability,
                effect=one.effect,
            )
            for one in course.suspects
        ),
        now=course.now,
        created_at_s=0.0,
        requester="",
        text=None,
        report=None,
    )


def _end(revision: Revision) -> End:
    return End(
        label=revision.label,
        sha=revision.sha,
        position=revision.position,
        subject=revision.subject,
        author=revision.author,
    )


def _forecast(course: SearchCourse, left: Forecast) -> RemoteForecast:
    """What is left when the ends are measured, and what was done till then."""
    known = course.known
    return RemoteForecast(
        old=_end(known.between.old),
        new=_end(known.between.new),
        commits=known.between.n,
        testbed=machine(),
        workload=course.search.campaign.name,
        images=ForecastSpread(median=left.images[0], p90=left.images[1]),
        iterations=ForecastSpread(median=left.iterations[0], p90=left.iterations[1]),
        hours=ForecastSpread(median=left.hours[0], p90=left.hours[1]),
        known_iterations=0,
    )


def _probes(course: SearchCourse) -> list[RemoteProbe]:
    known = course.known
    places = {one.label: one.position for one in known.between.revisions}
    probes = [
        RemoteProbe(
            probe_id=one.serial,
            serial=one.serial,
            label=one.label,
            position=places[one.label],
            image=one.image,
            state=RemoteProbeState.LOST if one.value is None else RemoteProbeState.DONE,
            values=() if one.value is None else (one.value,),
            unit=one.unit,
            failure=one.failure,
            at_s=one.at_s,
        )
        for one in probe_records(known)
    ]
    if course.place is not None:
        position, image = course.place
        revision = known.between.revisions[position]
        probes.append(
            RemoteProbe(
                probe_id=_NOT_YET,
                serial=len(probes) + 1,
                label=revision.label,
                position=revision.position,
                image=image,
                state=RemoteProbeState.ISSUED,
                values=(),
                unit="",
                failure=None,
                at_s=None,
            )
        )
    return probes
