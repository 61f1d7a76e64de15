"""Queries of judgements, searches and incidents, one by one and all of a period."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.revision import repository_of
from buildbot_bench.core.variant import PREBUILT
from buildbot_bench.plugin.db.columns import (
    ALARMS,
    FRUITFUL_SEARCHES,
    ImageState,
    JudgementState,
    SearchKind,
    SearchReason,
)
from buildbot_bench.plugin.db.commits import judgements_of, line_of
from buildbot_bench.plugin.db.finding_rows import (
    IncidentSeriesRow,
    JudgementRow,
    MarkRow,
    NewIncidentSeries,
    NewJudgement,
    NewSearch,
    SearchRow,
)
from buildbot_bench.plugin.db.rows import SeriesName
from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, JUDGEMENT, MARK, PROBE, SEARCH
from buildbot_bench.plugin.db.sql import (
    ensure,
    fetch_all,
    insert_unknown,
    of_series,
    rows_by,
    values_of,
)

_OF_COMMIT = ("testbed", "workload", "new_sha", "old_sha")


def ensure_judgement(conn: sa.Connection, new: NewJudgement, *, now: float) -> JudgementRow:
    """The judgement of two revisions in a series; a known one stays as it is."""
    return ensure_judgements(conn, new, {new.value: new.unit}, now=now)[new.value]


def ensure_judgements(
    conn: sa.Connection, new: NewJudgement, units: Mapping[str, str], *, now: float
) -> dict[str, JudgementRow]:
    """The same of several values, by their names; each has its unit."""
    values = values_of(new) | {"created_at": now, "changed_at": now}
    key = {name: values[name] for name in _OF_COMMIT}
    key["repository"] = repository_of(new.branch or "")
    rows = [values | key | {"value": name, "unit": unit} for name, unit in units.items()]
    conn.execute(insert_unknown(conn, JUDGEMENT), rows)
    return {row.value: row for row in _of_values(conn, **key, value=list(units))}


_of_values = rows_by(JudgementRow, *_OF_COMMIT, "repository", "value")


def judgements(
    conn: sa.Connection, state: JudgementState | str | None = None, limit: int | None = None
) -> list[JudgementRow]:
    """The judgements in a state, or all; newest first."""
    query = sa.select(JUDGEMENT).order_by(JUDGEMENT.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(JUDGEMENT.c.state == state)
    return fetch_all(conn, query, JudgementRow)


def judgements_of_commit(
    conn: sa.Connection, sha: str, repository: str
) -> dict[tuple[str, str], JudgementRow]:
    """What was made of a repository's commit last, by testbed and workload."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.new_sha == sha, JUDGEMENT.c.repository == repository, JUDGEMENT.c.value == ""
    )
    rows = fetch_all(conn, query.order_by(JUDGEMENT.c.id), JudgementRow)
    return {(row.testbed, row.workload): row for row in rows}


def judgements_of_values(
    conn: sa.Connection, testbed: str, workload: str, sha: str, repository: str
) -> dict[str, JudgementRow]:
    """What was made last of the named values of a commit, by their names."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.new_sha == sha,
        JUDGEMENT.c.repository == repository,
        JUDGEMENT.c.testbed == testbed,
        JUDGEMENT.c.workload == workload,
        JUDGEMENT.c.value != "",
    )
    rows = fetch_all(conn, query.order_by(JUDGEMENT.c.id), JudgementRow)
    return {row.value: row for row in rows}


def closed_judgements(
    conn: sa.Connection,
    series: SeriesName,
    first_position: int,
    branch: str,
    *,
    value: str | None = "",
) -> list[JudgementRow]:
    """Of a series on a branch since a position: alarms, and what went some rounds without one.

    With None as the `value`, of all values by their names. What was marked as noise has an effect
    from the first round on.
    """
    query = sa.select(JUDGEMENT).where(
        *of_series(JUDGEMENT, series),
        JUDGEMENT.c.new_position >= first_position,
        JUDGEMENT.c.value != "" if value is None else JUDGEMENT.c.value == value,
        judgements_of(line_of(conn, branch)),
        sa.or_(
            JUDGEMENT.c.state.in_(ALARMS),
            sa.and_(
                JUDGEMENT.c.state == JudgementState.NOTHING,
                sa.or_(JUDGEMENT.c.rounds > 1, JUDGEMENT.c.effect.is_not(None)),
            ),
        ),
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.new_position), JudgementRow)


def judged_commits(conn: sa.Connection, series: SeriesName) -> dict[str, int]:
    """How many samples of a series were judged, by branch."""
    query = (
        sa.select(JUDGEMENT.c.branch, sa.func.count().label("number"))
        .where(
            *of_series(JUDGEMENT, series),
            JUDGEMENT.c.value == "",
            JUDGEMENT.c.rounds > 0,
            JUDGEMENT.c.state != JudgementState.UNFIT,
        )
        .group_by(JUDGEMENT.c.branch)
    )
    return {row.branch or "": row.number for row in conn.execute(query)}


def unsearched_improvements(conn: sa.Connection, since: float, limit: int) -> list[JudgementRow]:
    """The improvements judged since then that no search is to explain, oldest first."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.state == JudgementState.IMPROVEMENT,
        JUDGEMENT.c.search_id.is_(None),
        JUDGEMENT.c.created_at >= since,
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.id).limit(limit), JudgementRow)


def alarms_over(
    conn: sa.Connection, branch: str, old_position: int, new_position: int
) -> list[JudgementRow]:
    """The alarms of all series over some of a branch's commits in (old, new], oldest first."""
    query = sa.select(JUDGEMENT).where(
        JUDGEMENT.c.state.in_(ALARMS),
        JUDGEMENT.c.old_position < new_position,
        JUDGEMENT.c.new_position > old_position,
        judgements_of(line_of(conn, branch)),
    )
    return fetch_all(conn, query.order_by(JUDGEMENT.c.id), JudgementRow)


def add_search(conn: sa.Connection, wanted: NewSearch, *, now: float) -> SearchRow:
    """Ask for a search, running from now on; a known key gives the search that has it.

    Without a key every call is another search.
    """
    values = values_of(wanted) | {"state": SearchState.RUNNING, "created_at": now}
    values["repository"] = repository_of(wanted.branch)
    key = values.pop("key")
    if key is not None:
        return ensure(conn, SearchRow, {"key": key}, values)
    added = conn.execute(sa.insert(SEARCH).values(**values).returning(*SEARCH.c))
    return SearchRow(**added.mappings().one())


def searches(
    conn: sa.Connection,
    states: Collection[SearchState | str] | None = None,
    limit: int | None = None,
    kinds: Collection[SearchKind] | None = None,
) -> list[SearchRow]:
    """The searches in certain states and of certain kinds, or all; newest first."""
    query = sa.select(SEARCH).order_by(SEARCH.c.id.desc()).limit(limit)
    if states is not None:
        query = query.where(SEARCH.c.state.in_(states))
    if kinds is not None:
        query = query.where(SEARCH.c.kind.in_(kinds))
    return fetch_all(conn, query, SearchRow)


def searches_over(
    conn: sa.Connection,
    series: SeriesName,
    old_position: int,
    new_position: int,
    *,
    repository: str,
    value: str = "",
) -> list[SearchRow]:
    """The searches for a level whose ranges share a suspect with (old, new], newest first.

    All are of one repository, and of the `value` of that name, or of what is judged. The old end of
    a range is no suspect: ranges that meet in one commit share none.
    """
    query = sa.select(SEARCH).where(
        *of_series(SEARCH, series),
        SEARCH.c.repository == repository,
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.value == value,
        SEARCH.c.old_position < new_position,
        SEARCH.c.new_position > old_position,
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()), SearchRow)


def unstated_searches(conn: sa.Connection, limit: int) -> list[SearchRow]:
    """Those that ended with an answer whose figures were not worked out yet, newest first."""
    query = sa.select(SEARCH).where(
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.ended_at.is_not(None),
        SEARCH.c.answer.is_not(None),
        SEARCH.c.stated.is_(None),
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()).limit(limit), SearchRow)


def progress(conn: sa.Connection, search_id: int) -> tuple[int, int]:
    """How many iterations of a search gave a value, and how many of its images are built."""
    own = PROBE.c.search_id == search_id
    measured = sa.select(sa.func.count()).select_from(
        ITERATION.join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
    )
    built = sa.select(sa.func.count(IMAGE.c.id.distinct())).select_from(
        PROBE.join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
    )
    is_own = ~IMAGE.c.variant.endswith(f"+{PREBUILT}")
    is_value = sa.and_(ITERATION.c.is_primary, ITERATION.c.value.is_not(None))
    return (
        conn.execute(measured.where(own, is_value)).scalar_one(),
        conn.execute(built.where(own, is_own, IMAGE.c.state == ImageState.BUILT)).scalar_one(),
    )


def join_incident(
    conn: sa.Connection, joining: NewIncidentSeries, *, now: float
) -> IncidentSeriesRow:
    """A series of the incident of a search, waiting; one that joined before stays as it is."""
    values = values_of(joining)
    key = {name: values.pop(name) for name in ("search_id", "testbed", "workload", "value")}
    values |= {"standing": Standing.WAITING, "reason": "", "created_at": now}
    return ensure(conn, IncidentSeriesRow, key, values)


def incidents_over(
    conn: sa.Connection, branch: str, old_position: int, new_position: int
) -> list[SearchRow]:
    """The searches of alarms on a branch that share a suspect with (old, new], newest first."""
    query = sa.select(SEARCH).where(
        SEARCH.c.branch == branch,
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.reason == SearchReason.ALARM,
        SEARCH.c.fix_sha.is_(None),
        SEARCH.c.old_position < new_position,
        SEARCH.c.new_position > old_position,
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()), SearchRow)


def judgement_of_search(
    conn: sa.Connection, search_id: int, series: SeriesName, value: str = ""
) -> int | None:
    """The first alarm of a series that is linked to a search."""
    query = sa.select(JUDGEMENT.c.id).where(
        JUDGEMENT.c.search_id == search_id,
        *of_series(JUDGEMENT, series),
        JUDGEMENT.c.value == value,
    )
    return conn.execute(query.order_by(JUDGEMENT.c.id).limit(1)).scalar()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewestValue:
    """A boot that gave a value: `probe_id` is the job that it belongs to, `at_s` when it ended."""

    probe_id: int
    search_id: int | None
    reason: str
    testbed: str
    workload: str
    label: str
    sha: str
    image: int
    value: float
    unit: str
    at_s: float


def findings(conn: sa.Connection, limit: int, *, open_only: bool = False) -> list[SearchRow]:
    """The searches that found something, newest first; those whose incident is not over."""
    query = sa.select(SEARCH).where(SEARCH.c.state.in_(FRUITFUL_SEARCHES))
    if open_only:
        query = query.where(SEARCH.c.recovery.is_(None))
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()).limit(limit), SearchRow)


def findings_over(
    conn: sa.Connection, branch: str, kind: SearchKind, old_position: int, new_position: int
) -> list[SearchRow]:
    """The searches of a branch and kind that found something and hold all of (old, new]."""
    query = sa.select(SEARCH).where(
        SEARCH.c.state.in_(FRUITFUL_SEARCHES),
        SEARCH.c.branch == branch,
        SEARCH.c.kind == kind,
        SEARCH.c.old_position <= old_position,
        SEARCH.c.new_position >= new_position,
    )
    return fetch_all(conn, query.order_by(SEARCH.c.id.desc()), SearchRow)


def last_marks(conn: sa.Connection, search_ids: Collection[int]) -> dict[int, MarkRow]:
    """The last word on each of some searches, by the search; none of those that nobody marked."""
    last = sa.select(sa.func.max(MARK.c.id)).where(MARK.c.search_id.in_(search_ids))
    query = sa.select(MARK).where(MARK.c.id.in_(last.group_by(MARK.c.search_id)))
    return {row.search_id or 0: row for row in fetch_all(conn, query, MarkRow)}


def newest_values(conn: sa.Connection, limit: int) -> list[NewestValue]:
    """The boots that gave a value last, newest first."""
    query = (
        sa.select(
            PROBE.c.id.label("probe_id"),
            PROBE.c.search_id,
            PROBE.c.reason,
            ITERATION.c.testbed,
            ITERATION.c.workload,
            IMAGE.c.label,
            IMAGE.c.sha,
            IMAGE.c.ordinal.label("image"),
            ITERATION.c.value,
            ITERATION.c.unit,
            ITERATION.c.at_s,
        )
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .where(ITERATION.c.is_primary, ITERATION.c.value.is_not(None))
        .order_by(ITERATION.c.id.desc())
        .limit(limit)
    )
    return [NewestValue(**row) for row in conn.execute(query).mappings()]
