"""Rows of the tables as the records that the core's invariants check."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.states import ProbeState, SearchState
from buildbot_bench.core.incident import Ending, Standing
from buildbot_bench.core.operations import (
    ArtefactFacts,
    BootFacts,
    BuildRequest,
    ImageFacts,
    JobOwner,
    MessageFacts,
    ProbeFacts,
    SearchFacts,
    UntoldFacts,
)
from buildbot_bench.plugin.db.outbox import is_unreported, is_untold_breakage, is_untold_recovery
from buildbot_bench.plugin.db.schema import (
    ARTEFACT,
    IMAGE,
    INCIDENT_SERIES,
    ITERATION,
    JUDGEMENT,
    NOTICE,
    PROBE,
    PROFILE,
    REPORT,
    SEARCH,
)
from buildbot_bench.plugin.db.states import (
    OPEN_PROBES,
    OPEN_PROFILES,
    ImageState,
    JudgementState,
    ProbeReason,
    ReportState,
    SearchKind,
)

_AT_ONCE = 500
_RUNNING = frozenset({SearchState.RUNNING, SearchState.CANCELLING})
_FOUND = frozenset({SearchState.FOUND, SearchState.SLOPE})
# Who cancels a search need not say why.
_NEEDS_NO_REASON = frozenset({SearchState.CANCELLED})
_WAITING = frozenset({ReportState.NEW, ReportState.SENDING})
# A breakage that ended longer ago is no news to anybody (plugin/outbox/farm_mail.py, NEWS_S).
_NEWS_S = 24 * 3600.0


def _words(*columns: sa.Column[Any]) -> list[sa.ColumnElement[Any]]:
    """Return the columns as plain text, so that unknown words of a state are read, too."""
    return [sa.type_coerce(column, sa.String).label(column.name) for column in columns]


def requests(conn: sa.Connection) -> dict[int, BuildRequest]:
    """Buildbot's requests for what is issued, by their ids."""
    issued = [
        *conn.execute(sa.select(PROBE.c.brid).where(PROBE.c.state == ProbeState.ISSUED)).scalars(),
        *conn.execute(
            sa.select(IMAGE.c.brid).where(IMAGE.c.state == ImageState.BUILDING)
        ).scalars(),
    ]
    table = sa.table(
        "buildrequests", sa.column("id"), sa.column("complete"), sa.column("complete_at")
    )
    query = sa.select(table).where(table.c.id.in_([one for one in issued if one is not None]))
    return {
        row.id: BuildRequest(
            id=row.id, complete_at_s=float(row.complete_at or 0) if row.complete else None
        )
        for row in conn.execute(query)
    }


_PROBE = (
    *("id", "token", "iterations", "failure", "failure_kind"),
    *("brid", "issued_at", "ended_at"),
)


def probes(conn: sa.Connection) -> Iterator[ProbeFacts]:
    """All probes, with counts of their boots."""
    boots = (
        sa.select(
            ITERATION.c.probe_id,
            sa.func.count(ITERATION.c.ordinal.distinct()).label("recorded"),
            sa.func.min(ITERATION.c.ordinal).label("first"),
            sa.func.max(ITERATION.c.ordinal).label("last"),
        )
        .group_by(ITERATION.c.probe_id)
        .subquery()
    )
    primaries = (
        sa.select(ITERATION.c.probe_id, sa.func.count().label("primaries"))
        .where(ITERATION.c.is_primary)
        .group_by(ITERATION.c.probe_id)
        .subquery()
    )
    query = (
        sa.select(
            *_words(PROBE.c.state),
            *(PROBE.c[name] for name in _PROBE),
            *(boots.c[name] for name in ("recorded", "first", "last")),
            primaries.c.primaries,
        )
        .outerjoin(boots, boots.c.probe_id == PROBE.c.id)
        .outerjoin(primaries, primaries.c.probe_id == PROBE.c.id)
        .order_by(PROBE.c.id)
    )
    for row in conn.execute(query.execution_options(yield_per=_AT_ONCE)):
        yield ProbeFacts(
            id=row.id,
            token=row.token,
            is_open=row.state in OPEN_PROBES,
            is_issued=row.state == ProbeState.ISSUED,
            kept=row.state == ProbeState.DONE and row.failure is None and row.failure_kind is None,
            cancelled=row.state == ProbeState.CANCELLED,
            asked=row.iterations,
            recorded=row.recorded or 0,
            first=row.first,
            last=row.last,
            primaries=row.primaries or 0,
            brid=row.brid,
            issued_at_s=row.issued_at,
            ended_at_s=row.ended_at,
        )


def repeated_tokens(conn: sa.Connection) -> Iterator[tuple[str, str]]:
    """The tokens that several rows have, each with one of these rows."""
    rows = sa.union_all(
        sa.select(PROBE.c.token, sa.literal("probe").label("kind"), PROBE.c.id),
        sa.select(PROFILE.c.token, sa.literal("capture").label("kind"), PROFILE.c.id),
    ).subquery()
    several = (
        sa.select(rows.c.token)
        .where(rows.c.token != "")
        .group_by(rows.c.token)
        .having(sa.func.count() > 1)
    )
    query = sa.select(rows).where(rows.c.token.in_(several)).order_by(rows.c.kind, rows.c.id)
    for row in conn.execute(query):
        yield row.token, f"{row.kind} {row.id}"


def owners(conn: sa.Connection, tokens: Collection[str]) -> dict[str, JobOwner]:
    """Who asked for jobs of these names, and what the tables have of them."""
    found: dict[str, JobOwner] = {}
    names = sorted(tokens)
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        captures = _states_of(PROFILE).where(PROFILE.c.token.in_(some))
        for row in conn.execute(captures):
            found[row.token] = JobOwner(
                row=f"capture {row.id}",
                is_open=row.state in OPEN_PROFILES,
                ended_at_s=row.ended_at,
                measures=False,
            )
        boots = _boots(conn, some)
        for row in conn.execute(_states_of(PROBE).where(PROBE.c.token.in_(some))):
            found[row.token] = JobOwner(
                row=f"probe {row.id}",
                is_open=row.state in OPEN_PROBES,
                cancelled=row.state == ProbeState.CANCELLED,
                ended_at_s=row.ended_at,
                boots=boots.get(row.id, ()),
            )
    return found


def _states_of(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table.c.id, table.c.token, table.c.ended_at, *_words(table.c.state))


def _boots(conn: sa.Connection, tokens: list[str]) -> dict[int, tuple[BootFacts, ...]]:
    values: dict[int, dict[int, dict[str, float | None]]] = defaultdict(lambda: defaultdict(dict))
    columns = (ITERATION.c.probe_id, ITERATION.c.ordinal, ITERATION.c.unit, ITERATION.c.value)
    query = sa.select(*columns).join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
    for row in conn.execute(query.where(PROBE.c.token.in_(tokens)).order_by(ITERATION.c.id)):
        values[row.probe_id][row.ordinal][row.unit] = row.value
    return {
        probe: tuple(BootFacts(ordinal=ordinal, values=units) for ordinal, units in boots.items())
        for probe, boots in values.items()
    }


def images(conn: sa.Connection) -> Iterator[ImageFacts]:
    """The images that are built or being built."""
    query = (
        sa.select(
            *(IMAGE.c[name] for name in ("id", "label", "digest", "brid", "changed_at")),
            *_words(IMAGE.c.state),
            ARTEFACT.c.id.label("artefact"),
        )
        .outerjoin(ARTEFACT, ARTEFACT.c.digest == IMAGE.c.digest)
        .where(IMAGE.c.state.in_((ImageState.BUILT, ImageState.BUILDING)))
        .order_by(IMAGE.c.id)
    )
    for row in conn.execute(query.execution_options(yield_per=_AT_ONCE)):
        yield ImageFacts(
            id=row.id,
            label=row.label,
            is_built=row.state == ImageState.BUILT,
            digest=row.digest,
            brid=row.brid,
            changed_at_s=row.changed_at,
            stored=row.artefact is not None,
        )


def artefacts(conn: sa.Connection) -> Iterator[ArtefactFacts]:
    """All artefacts, oldest first."""
    claim = sa.select(IMAGE.c.id).where(
        IMAGE.c.digest == ARTEFACT.c.digest, IMAGE.c.state == ImageState.BUILT
    )
    for row in conn.execute(sa.select(ARTEFACT, claim.exists().label("claimed"))):
        yield ArtefactFacts(
            digest=row.digest, size=row.size, stored_at_s=row.stored_at, claimed=bool(row.claimed)
        )


def searches(conn: sa.Connection) -> Iterator[SearchFacts]:
    """All searches, without what their answers say."""
    query = sa.select(
        SEARCH.c.id,
        SEARCH.c.detail,
        SEARCH.c.ended_at,
        *_words(SEARCH.c.state, SEARCH.c.kind),
        SEARCH.c.answer.is_not(None).label("has_answer"),
        SEARCH.c.breakage.is_not(None).label("has_breakage"),
    )
    for row in conn.execute(query.order_by(SEARCH.c.id).execution_options(yield_per=_AT_ONCE)):
        of_level = row.kind == SearchKind.EFFECT
        yield SearchFacts(
            id=row.id,
            state=row.state,
            is_open=row.state in _RUNNING,
            found=row.state in _FOUND,
            has_answer=bool(row.has_answer if of_level else row.has_breakage),
            has_reason=bool(row.detail) or row.state in _NEEDS_NO_REASON,
            ended_at_s=row.ended_at,
        )


def worked_until_s(conn: sa.Connection) -> float | None:
    """When a master was last seen to live: Buildbot's tell of themselves every minute."""
    masters = sa.table("masters", sa.column("last_active"))
    return conn.execute(sa.select(sa.func.max(masters.c.last_active))).scalar()


def untold(conn: sa.Connection, now_s: float) -> Iterator[UntoldFacts]:
    """Searches and ends of incidents that lack their mail, by the outbox's own rules."""
    for condition, problem in (
        (is_unreported(), "is {}"),
        (is_untold_breakage(now_s - _NEWS_S), "is {}"),
        (is_untold_recovery(), "is an incident that has ended"),
    ):
        columns = (SEARCH.c.id, SEARCH.c.ended_at, *_words(SEARCH.c.state))
        ending = sa.type_coerce(SEARCH.c.breakage, sa.String).label("breakage")
        query = sa.select(*columns, ending).where(condition, SEARCH.c.ended_at.is_not(None))
        for row in conn.execute(query.order_by(SEARCH.c.id)):
            if _ending(row.breakage) != Ending.MENDED:  # which is nothing to tell
                yield UntoldFacts(
                    row=f"search {row.id}",
                    problem=problem.format(row.state),
                    since_s=row.ended_at,
                    settled_at_s=_settled_at_s(conn, row.id, row.ended_at),
                )


def _ending(breakage: str | None) -> str | None:
    with suppress(ValueError, AttributeError):
        return str(json.loads(breakage or "{}").get("ending"))
    return None


def _settled_at_s(conn: sa.Connection, search_id: int, ended_at: float) -> float | None:
    """When the last thing ended that the mail of a search may wait for; None while one goes on.

    It waits for captures of its own and for the other series of its incident: whether their first
    boots, suspicions or confirmations are about its commit is not asked here.
    """
    captures = PROFILE.c.search_id == search_id
    waits = (
        sa.select(PROFILE.c.id).where(captures, PROFILE.c.state.in_(OPEN_PROFILES)),
        sa.select(PROBE.c.id).where(
            PROBE.c.state.in_(OPEN_PROBES), PROBE.c.reason == ProbeReason.COMMIT
        ),
        sa.select(JUDGEMENT.c.id).where(JUDGEMENT.c.state == JudgementState.SUSPICION),
        sa.select(INCIDENT_SERIES.c.id).where(
            INCIDENT_SERIES.c.search_id == search_id, INCIDENT_SERIES.c.standing == Standing.WAITING
        ),
    )
    if any(conn.execute(sa.select(one.exists())).scalar() for one in waits):
        return None
    ends = (
        sa.select(sa.func.max(PROFILE.c.ended_at)).where(captures),
        sa.select(sa.func.max(PROBE.c.ended_at)),
        sa.select(sa.func.max(JUDGEMENT.c.changed_at)),
        sa.select(sa.func.max(INCIDENT_SERIES.c.ended_at)),
    )
    return max(ended_at, *(conn.execute(one).scalar() or 0.0 for one in ends))


def messages(conn: sa.Connection) -> Iterator[MessageFacts]:
    """All mails and notices that are sent or to be sent, without their text."""
    mails = sa.select(REPORT.c.id, REPORT.c.message_id, REPORT.c.sent_at, *_words(REPORT.c.state))
    for row in conn.execute(mails.order_by(REPORT.c.id)):
        yield _message(f"mail {row.id}", row.message_id, row.state, row.sent_at)
    notices = sa.select(
        NOTICE.c.id, NOTICE.c.search_id, NOTICE.c.kind, NOTICE.c.target, NOTICE.c.sent_at,
        *_words(NOTICE.c.state),
    )  # fmt: skip
    for row in conn.execute(notices.order_by(NOTICE.c.id)):
        about = f"{row.kind} of search {row.search_id} to {row.target}"
        yield _message(f"notice {row.id}", about, row.state, row.sent_at)


def _message(row: str, message_id: str, state: str, sent_at: float | None) -> MessageFacts:
    return MessageFacts(
        row=row,
        message_id=message_id,
        is_sent=state == ReportState.SENT,
        is_waiting=state in _WAITING,
        sent_at_s=sent_at,
    )
