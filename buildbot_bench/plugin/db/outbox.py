"""Queries on mails and notices, each stored once and then delivered, and on marks of people."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.columns import (
    UNSENT,
    MarkKind,
    ReportState,
    SearchKind,
    SearchReason,
    table_of,
)
from buildbot_bench.plugin.db.finding_rows import MarkRow, NoticeRow, ReportRow, SearchRow
from buildbot_bench.plugin.db.rows import SeriesName
from buildbot_bench.plugin.db.schema import INCIDENT_SERIES, JUDGEMENT, MARK, NOTICE, REPORT, SEARCH
from buildbot_bench.plugin.db.sql import change, ensure, fetch_all, of_series

P = ParamSpec("P")
Sent = TypeVar("Sent", ReportRow, NoticeRow)

# The kind of a notice that is withheld.
NOTHING_TO_SAY = "none"


def add_mail(conn: sa.Connection, /, key: str, *, now: float, **mail: Any) -> ReportRow:
    """The mail about what the key names, due from now on; a known one stays as it was written.

    `mail` are its columns: message_id, subject, recipients, message; state, if it is not new.
    """
    kind, _, number = key.partition(":")
    about = {"search_id": int(number) if kind == "search" else None}
    due = {"state": ReportState.NEW, "next_try_at": now, "created_at": now}
    return ensure(conn, ReportRow, {"key": key}, about | due | mail)


def mails_like(conn: sa.Connection, prefix: str) -> list[ReportRow]:
    """The mails whose keys begin so, oldest first."""
    query = sa.select(REPORT).where(REPORT.c.key.startswith(prefix, autoescape=True))
    return fetch_all(conn, query.order_by(REPORT.c.id), ReportRow)


def mails_sent_since(conn: sa.Connection, since_s: float) -> int:
    """How many mails a server took after a time."""
    query = sa.select(sa.func.count()).where(REPORT.c.sent_at > since_s)
    return int(conn.execute(query).scalar_one())


def searches_where(
    condition: Callable[P, sa.ColumnElement[bool]],
) -> Callable[Concatenate[sa.Connection, P], list[SearchRow]]:
    """The query for the searches that meet a condition, oldest first."""

    def query(conn: sa.Connection, /, *args: P.args, **kwargs: P.kwargs) -> list[SearchRow]:
        chosen = sa.select(SEARCH).where(condition(*args, **kwargs))
        return fetch_all(conn, chosen.order_by(SEARCH.c.id), SearchRow)

    query.__name__ = f"searches {condition.__name__}"
    return query


def is_unreported() -> sa.ColumnElement[bool]:
    """Searches for a level that found something or failed and have no mail yet."""
    ended = (SearchState.FOUND, SearchState.SLOPE, SearchState.FAILED)
    return sa.and_(SEARCH.c.state.in_(ended), SEARCH.c.kind == SearchKind.EFFECT, ~_told().exists())


def is_undecided(ended_since: float) -> sa.ColumnElement[bool]:
    """Searches for an alarm's change that ended since then without one, and have no report."""
    return sa.and_(
        SEARCH.c.state.in_([SearchState.INCONCLUSIVE, SearchState.NOT_REPRODUCED]),
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.reason == SearchReason.ALARM,
        SEARCH.c.ended_at >= ended_since,
        ~_told().exists(),
    )


def is_untold_breakage(ended_since: float) -> sa.ColumnElement[bool]:
    """Breakages found, or left without a culprit, since then, untold as yet."""
    return sa.and_(
        SEARCH.c.state.in_((SearchState.FOUND, SearchState.INCONCLUSIVE)),
        SEARCH.c.kind != SearchKind.EFFECT,
        SEARCH.c.ended_at >= ended_since,
        ~_told().exists(),
    )


def is_untold_recovery() -> sa.ColumnElement[bool]:
    """Incidents that have ended, that people heard of, and whose end nobody heard of."""
    told = (ReportState.NEW, ReportState.SENDING, ReportState.SENT)
    begun = _told().where(REPORT.c.state.in_(told))
    return sa.and_(SEARCH.c.recovery.is_not(None), begun.exists(), has_no_mail("recovery", SEARCH))


def _told() -> sa.Select[tuple[int]]:
    return sa.select(REPORT.c.id).where(REPORT.c.search_id == SEARCH.c.id)


def has_no_mail(about: str, table: sa.Table) -> sa.ColumnElement[bool]:
    """The condition for rows of a table of which no mail has the key: `quarantine:2`."""
    key = sa.literal(f"{about}:") + sa.cast(table.c.id, sa.Text)
    return ~sa.select(REPORT.c.id).where(REPORT.c.key == key).exists()


def withheld_reports(conn: sa.Connection) -> list[ReportRow]:
    """The reports of improvements that no digest has reported yet, oldest first."""
    return fetch_all(conn, _withheld(), ReportRow)


def digest_reports(
    conn: sa.Connection, /, rows: Sequence[ReportRow], *, now: float, **mail: Any
) -> bool:
    """Let the last of some withheld reports carry a mail about all of them, due from now on.

    `mail` are its columns, as of `add_mail`.
    All change or none does: False when another master was quicker with one of them.
    """
    # Another master's digest is waited for: what it carries is withheld no longer. SQLite has one
    # writer at a time anyway, and leaves the clause out.
    withheld = fetch_all(conn, _withheld().with_for_update(), ReportRow)
    known = {row.id: row.version for row in withheld}
    if any(known.get(row.id) != row.version for row in rows):
        return False
    *others, last = rows
    for row in others:
        change(conn, row, state=ReportState.DIGESTED)
    return change(conn, last, state=ReportState.NEW, next_try_at=now, **mail) is not None


def _withheld() -> sa.Select[tuple[object, ...]]:
    return sa.select(REPORT).where(REPORT.c.state == ReportState.WITHHELD).order_by(REPORT.c.id)


def due(kind: type[Sent]) -> Callable[[sa.Connection, float], list[Sent]]:
    """The query for mails or notices neither sent nor refused that are due, the longest due first.

    One that is `sending` is among them when its time has passed: its sender died over it.
    Who begins to send therefore sets `next_try_at` to when it must have ended.
    """
    table = table_of(kind)

    def query(conn: sa.Connection, now: float) -> list[Sent]:
        chosen = sa.select(table).where(table.c.state.in_(UNSENT), table.c.next_try_at <= now)
        return fetch_all(conn, chosen.order_by(table.c.next_try_at, table.c.id), kind)

    query.__name__ = f"{kind.__name__} due"
    return query


def add_notices(
    conn: sa.Connection,
    search_id: int,
    wanted: Sequence[tuple[str, str, str]],
    *,
    now: float,
) -> list[NoticeRow]:
    """What is to be said of a search: of which kind, to which target, in which words; due now.

    Known ones stay as they are. When nothing is to be said a withheld notice says so, lest
    somebody asks again.
    """
    rows = wanted or [(NOTHING_TO_SAY, "", "")]
    state = ReportState.NEW if wanted else ReportState.WITHHELD
    return [
        ensure(
            conn,
            NoticeRow,
            {"search_id": search_id, "kind": kind, "target": target},
            {"body": body, "state": state, "next_try_at": now, "created_at": now},
        )
        for kind, target, body in rows
    ]


def is_unnoticed(ended_since: float) -> sa.ColumnElement[bool]:
    """Searches that found something since then and of which nothing is written yet.

    The time keeps a farm that learns of a site from telling it of all its past.
    """
    return sa.and_(
        SEARCH.c.state == SearchState.FOUND,
        SEARCH.c.kind == SearchKind.EFFECT,
        SEARCH.c.ended_at >= ended_since,
        ~sa.select(NOTICE.c.id).where(NOTICE.c.search_id == SEARCH.c.id).exists(),
    )


def take_up_notices(conn: sa.Connection, now: float) -> int:
    """Let all that were given up be due again; how many they were."""
    due = {"state": ReportState.NEW, "attempts": 0, "denials": 0, "next_try_at": now}
    given_up = NOTICE.c.state == ReportState.GIVEN_UP
    changed = sa.update(NOTICE).where(given_up).values(**due, version=NOTICE.c.version + 1)
    return conn.execute(changed).rowcount


def add_mark(
    conn: sa.Connection,
    *,
    kind: MarkKind | str,
    author: str,
    now: float,
    search_id: int | None = None,
    judgement_id: int | None = None,
    fix: Revision | None = None,
) -> MarkRow:
    """Keep what somebody says; what was said before stays beside it. `fix` is what fixed it."""
    added = conn.execute(
        sa.insert(MARK)
        .values(
            search_id=search_id,
            judgement_id=judgement_id,
            kind=kind,
            fixed_sha=fix and fix.sha,
            fixed_label=fix and fix.label,
            author=author,
            at_s=now,
            pending=kind != MarkKind.FIXED,
        )
        .returning(*MARK.c)
    )
    return MarkRow(**added.mappings().one())


def mark_searches(
    conn: sa.Connection,
    search_ids: Collection[int],
    *,
    kind: MarkKind,
    author: str,
    now: float,
    fix: Revision | None = None,
) -> list[MarkRow]:
    """Keep what somebody says of several searches: of all of them, or of none."""
    return [
        add_mark(conn, kind=kind, author=author, now=now, search_id=search_id, fix=fix)
        for search_id in sorted(search_ids)
    ]


def marks_on_series(
    conn: sa.Connection, series: SeriesName, value: str | None = ""
) -> list[MarkRow]:
    """The last words on changes of a series that say what they were: expected, or noise.

    They are said of its verdicts, of searches on it or begun by it, and of incidents that were
    confirmed on it. With None as the `value`, of all values by their names. Oldest first.
    """

    def of(table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
        meant = table.c.value != "" if value is None else table.c.value == value
        return *of_series(table, series), meant

    verdicts = sa.select(JUDGEMENT.c.id).where(*of(JUDGEMENT))
    begun = sa.select(JUDGEMENT.c.search_id).where(*of(JUDGEMENT), JUDGEMENT.c.search_id > 0)
    searched = sa.select(SEARCH.c.id).where(*of(SEARCH))
    confirmed = sa.select(INCIDENT_SERIES.c.search_id).where(
        *of(INCIDENT_SERIES), INCIDENT_SERIES.c.standing == Standing.CONFIRMED
    )
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id, MARK.c.judgement_id)
    query = sa.select(MARK).where(
        MARK.c.id.in_(last),
        MARK.c.kind.in_([MarkKind.EXPECTED, MarkKind.NOISE]),
        sa.or_(
            MARK.c.judgement_id.in_(verdicts),
            *(MARK.c.search_id.in_(ids) for ids in (begun, searched, confirmed)),
        ),
    )
    return fetch_all(conn, query.order_by(MARK.c.id), MarkRow)


def newest_marks(conn: sa.Connection) -> list[MarkRow]:
    """The last word on each report and each verdict of which anything was said, oldest first."""
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id, MARK.c.judgement_id)
    return fetch_all(conn, sa.select(MARK).where(MARK.c.id.in_(last)).order_by(MARK.c.id), MarkRow)


def opinions(conn: sa.Connection) -> dict[MarkKind, int]:
    """How many searches that named a culprit have which last word."""
    last = sa.select(sa.func.max(MARK.c.id)).group_by(MARK.c.search_id)
    query = (
        sa.select(MARK.c.kind, sa.func.count().label("number"))
        .join(SEARCH, SEARCH.c.id == MARK.c.search_id)
        .where(MARK.c.id.in_(last), SEARCH.c.state == SearchState.FOUND)
        .group_by(MARK.c.kind)
    )
    return {row.kind: row.number for row in conn.execute(query)}
