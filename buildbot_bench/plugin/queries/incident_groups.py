"""Incidents with all searches that found the same culprit, on any series."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.revision import repository_of
from buildbot_bench.core.search import SlopePart, Step
from buildbot_bench.plugin.db.columns import FRUITFUL_SEARCHES, MarkKind, SearchKind
from buildbot_bench.plugin.db.finding_rows import IncidentSeriesRow, MarkRow, SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.breakage_views import recovery_json
from buildbot_bench.plugin.queries.evidence import item_of_search
from buildbot_bench.plugin.queries.history import revision_json
from buildbot_bench.plugin.queries.incidents import alarmed_by, others_of, step_within
from buildbot_bench.plugin.queries.judgements import mark_json


async def incident_json(farm: Farm, search: SearchRow) -> list[Json]:
    """The series of an incident as the REST interface shows them; empty when it has but one."""
    members = await others_of(farm, search)
    if not members:
        return []
    boots = await _boots(farm, search)
    found = step_within(search, alarmed_by(search))
    own = {
        "testbed": search.testbed,
        "workload": search.workload,
        "searched": True,
        "standing": "found" if found else str(search.state),
        "effect": found.effect if found else search.claimed,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "boots": boots.get(search.series, 0),
        "reason": "",
        "judgementid": None,
        "searchid": search.id,
    }
    return [own, *(_member_json(member, boots) for member in members)]


def _member_json(member: IncidentSeriesRow, boots: dict[tuple[str, str], int]) -> Json:
    return {
        "testbed": member.testbed,
        "workload": member.workload,
        "searched": False,
        "standing": str(member.standing),
        "effect": member.claimed if member.effect is None else member.effect,
        "low": member.low,
        "high": member.high,
        "boots": boots.get(member.series, 0),
        "reason": member.reason,
        "judgementid": member.judgement_id,
        "searchid": member.own_search_id,
    }


async def _boots(farm: Farm, search: SearchRow) -> dict[tuple[str, str], int]:
    """How many iterations of each series of an incident gave a value."""
    counts: dict[tuple[str, str], int] = {}
    for probe in await farm.store.probes_of_search(search.id):
        series = probe.series
        rows = await farm.store.iterations_of_probe(probe.id)
        good = sum(row.is_primary and row.value is not None for row in rows)
        counts[series] = counts.get(series, 0) + good
    return counts


READ = 300
"""So many of the newest searches are read for a list."""
LISTED = 50
"""So many incidents a list has; each costs a look at its culprit."""
MOST_SERIES = 50
# What was marked so needs no more looking after.
_CLOSING = frozenset({MarkKind.EXPECTED, MarkKind.NOISE, MarkKind.FIXED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Culprit:
    """What searches of one incident agree on: a change of one kind in (old, new] of a branch."""

    branch: str
    kind: SearchKind
    slope: bool
    old: int
    new: int


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentGroup:
    """An incident: its searches, newest first, their last marks, and the series that joined."""

    culprit: Culprit
    searches: tuple[SearchRow, ...]
    marks: dict[int, MarkRow]
    members: tuple[IncidentSeriesRow, ...]

    @property
    def number(self) -> int:
        """What names it: its first search."""
        return min(search.id for search in self.searches)

    @property
    def is_worse(self) -> bool:
        """Whether it made anything worse: what does not build or boot did."""
        return any(_is_worse(search) for search in self.searches)

    @property
    def is_open(self) -> bool:
        """Whether a search that found it worse has neither recovered nor been judged by people."""
        return any(
            _is_worse(search)
            and search.recovery is None
            and (search.id not in self.marks or self.marks[search.id].kind not in _CLOSING)
            for search in self.searches
        )


def effect_of(search: SearchRow) -> float | None:
    """The effect that an ended search is about, by its report's rule; None of a breakage."""
    found = _change(search)
    return None if found is None else found[2]


def culprit_of(search: SearchRow) -> Culprit | None:
    """The culprit that a search found; None while it runs, and when it found nothing."""
    if search.state not in FRUITFUL_SEARCHES or search.ended_at is None:
        return None
    old, new = search.old_position, search.new_position
    if search.breakage is not None:
        old, new = old + search.breakage.old, old + search.breakage.new
    elif found := _change(search):
        old, new = old + found[0], old + found[1]
    return Culprit(
        branch=search.branch,
        kind=search.kind,
        slope=search.state is SearchState.SLOPE,
        old=old,
        new=new,
    )


def _change(search: SearchRow) -> tuple[int, int, float] | None:
    """(old, new], counted from the search's old end, and the effect, as the report has them."""
    if search.answer is None:
        return None
    found: Step | SlopePart | None = search.headline
    if search.state is SearchState.SLOPE:
        # As a report: it tells of the first slope in its first sentence.
        found = next((slope.whole for slope in search.answer.slopes), None)
    return None if found is None else (found.old, found.new, found.effect)


def _is_worse(search: SearchRow) -> bool:
    if search.kind is not SearchKind.EFFECT:
        return True
    effect = effect_of(search)
    return effect is not None and search.makes_worse(effect)


async def grouped(farm: Farm, searches: Iterable[SearchRow]) -> list[IncidentGroup]:
    """Searches by what they found, in the order of their newest one; two queries for them all."""
    found: dict[Culprit, list[SearchRow]] = {}
    for search in searches:
        if culprit := culprit_of(search):
            found.setdefault(culprit, []).append(search)
    ids = [search.id for group in found.values() for search in group]
    marks = await farm.store.last_marks(ids)
    members = await farm.store.series_of_incident(ids)
    return [
        IncidentGroup(
            culprit=culprit,
            searches=tuple(group),
            marks={one.id: marks[one.id] for one in group if one.id in marks},
            members=tuple(_of(members, group)),
        )
        for culprit, group in found.items()
    ]


def _of(
    members: Sequence[IncidentSeriesRow], group: Sequence[SearchRow]
) -> Iterable[IncidentSeriesRow]:
    ids = {search.id for search in group}
    return (one for one in members if one.search_id in ids)


async def incident_around(farm: Farm, search_id: int) -> IncidentGroup | None:
    """The incident that a search found, with all others that found it; None when it found none."""
    search = await farm.store.search(search_id)
    culprit = culprit_of(search) if search else None
    if culprit is None:
        return None
    others = await farm.store.findings_over(culprit.branch, culprit.kind, culprit.old, culprit.new)
    same = [one for one in others if culprit_of(one) == culprit]
    (group,) = await grouped(farm, same)
    return group


async def incidents(farm: Farm, limit: int) -> list[Json]:
    """The newest incidents, open or over, newest first."""
    groups = await grouped(farm, await farm.store.findings(READ))
    return [await incident_view(farm, group) for group in groups[: min(limit, LISTED)]]


async def incident(farm: Farm, number: int) -> Json | None:
    """One incident by any of its searches; None when that found nothing."""
    group = await incident_around(farm, number)
    return None if group is None else await incident_view(farm, group)


async def incident_view(farm: Farm, group: IncidentGroup) -> Json:
    """An incident as pages show it, in one row."""
    culprit, marks = group.culprit, group.marks.values()
    last = max(marks, key=lambda mark: mark.id, default=None)
    over = all(search.recovery is not None for search in group.searches)
    named = await _named(farm, culprit)
    links = farm.workflow.pages_of_commits(repository_of(culprit.branch))
    return {
        "incidentid": group.number,
        "branch": culprit.branch,
        "kind": "slope" if culprit.slope else str(culprit.kind),
        "nouns": (await item_of_search(farm, group.searches[0])).nouns,
        "commits": culprit.new - culprit.old,
        "culprit": named,
        "links": {"commit": links.commit(named["sha"]), "diff": links.diff(named["sha"])},
        "worse": group.is_worse,
        "open": group.is_open,
        "series": _series(group)[:MOST_SERIES],
        "searches": [search.id for search in group.searches],
        "mark": None if last is None else mark_json(last),
        "unmarked": sum(search.id not in group.marks for search in group.searches),
        "recovery": recovery_json(group.searches[0].recovery) if over else None,
        "at": max(search.ended_at or 0.0 for search in group.searches),
    }


def _series(group: IncidentGroup) -> list[Json]:
    """Each series once: as its newest search found it, else as the incident's boots did."""
    found: dict[tuple[str, str], Json] = {}
    for search in group.searches:
        effect = effect_of(search)
        row = {"effect": effect, "searchid": search.id, "worse": _is_worse(search)}
        found.setdefault(search.series, row)
    by_id = {search.id: search for search in group.searches}
    for member in group.members:
        if member.standing is Standing.CONFIRMED:
            effect = member.claimed if member.effect is None else member.effect
            alarmed = member.on(by_id[member.search_id].branch)
            row = {"effect": effect, "searchid": member.search_id, "worse": alarmed.worse}
            found.setdefault(member.series, row)
    return [
        {"testbed": testbed, "workload": workload, "branch": group.culprit.branch} | row
        for (testbed, workload), row in found.items()
    ]


async def _named(farm: Farm, culprit: Culprit) -> Json:
    """The first commit that shows the change; of one that nobody knows any more its place alone."""
    images = await farm.store.images_of_history(culprit.branch, culprit.new, culprit.new)
    if not images:
        return {"label": f"#{culprit.new}", "sha": "", "subject": "", "author": ""}
    newest = images[-1]
    try:
        revision = await farm.git(farm.history.resolve, newest.sha)
    except UsageError:  # a rewritten branch dropped it
        return {"label": newest.label, "sha": newest.sha, "subject": "", "author": ""}
    return revision_json(revision)
