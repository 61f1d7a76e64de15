"""Invariants of images, artefacts, searches and mails."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.incident.model import Ending
from buildbot_bench.plugin.db.columns import (
    FRUITFUL_SEARCHES,
    OPEN_PROBES,
    OPEN_PROFILES,
    OPEN_SEARCHES,
    UNSENT,
    ImageState,
    JudgementState,
    ProbeReason,
    ReportState,
    SearchKind,
)
from buildbot_bench.plugin.db.outbox import is_unreported, is_untold_breakage, is_untold_recovery
from buildbot_bench.plugin.db.schema import (
    ARTEFACT,
    IMAGE,
    INCIDENT_SERIES,
    JUDGEMENT,
    NOTICE,
    PROBE,
    PROFILE,
    REPORT,
    SEARCH,
)
from buildbot_bench.plugin.operations.health import AT_ONCE, Moment, Violation, not_run, words

# Kernels that nobody claims go once a day (broker/retention.py); one day is missed at a restart.
UNCLAIMED_S = 2 * 24 * 3600.0
# A mail waits up to six hours for other series (queries/incidents.py), and for captures of them.
MAIL_WAIT_S = 24 * 3600.0
# A breakage that ended longer ago is no news to anybody (plugin/outbox/search_mails.py, NEWS_S).
_NEWS_S = 24 * 3600.0
_BUILD_AGAIN = "state to 'dropped': it is built again when it is asked for"


def check_images(
    conn: sa.Connection, ends: Mapping[int, float | None], moment: Moment, checked: Counter[str]
) -> Iterator[Violation]:
    """One that is built has an artefact; one that is being built has a build."""
    query = (
        sa.select(
            *(IMAGE.c[name] for name in ("id", "label", "digest", "brid", "changed_at")),
            *words(IMAGE.c.state),
            ARTEFACT.c.id.label("artefact"),
        )
        .outerjoin(ARTEFACT, ARTEFACT.c.digest == IMAGE.c.digest)
        .where(IMAGE.c.state.in_((ImageState.BUILT, ImageState.BUILDING)))
        .order_by(IMAGE.c.id)
    )
    for image in conn.execute(query.execution_options(yield_per=AT_ONCE)):
        checked["images"] += 1
        if image.state == ImageState.BUILT and image.artefact is None:
            what = "no digest" if image.digest is None else f"no artefact {image.digest[:12]}"
            problem, then = f"is built, but the tables have {what}", f"set its {_BUILD_AGAIN}"
        elif image.state == ImageState.BUILDING and (
            why := not_run(image.brid, ends, image.changed_at, moment)
        ):
            problem = f"is being built, but {why}"
            then = "restart the master, which looks at each such image"
        else:
            continue
        yield _of("images", f"image {image.id}", f"{image.label} {problem}", then)


def artefacts(conn: sa.Connection) -> Sequence[sa.Row[Any]]:
    """The rows of all artefacts, each with whether a built image claims it."""
    claim = sa.select(IMAGE.c.id).where(
        IMAGE.c.digest == ARTEFACT.c.digest, IMAGE.c.state == ImageState.BUILT
    )
    return conn.execute(sa.select(ARTEFACT, claim.exists().label("claimed"))).all()


def check_artefacts(
    rows: Sequence[sa.Row[Any]], files: Mapping[str, int] | None, moment: Moment
) -> Iterator[Violation]:
    """Each has an image and a file, each file a row; `files` are sizes in bytes by digest.

    None for the files: they lie elsewhere, and nothing is said of them.
    """
    for one in rows:
        row = f"artefact {one.digest[:12]}"
        if one.claimed and files is not None and files.get(one.digest) != one.size:
            there = files.get(one.digest)
            found = "is missing" if there is None else f"has {there} bytes"
            claims = f"an image claims its {one.size} bytes, but the file {found}"
            yield _of("images", row, claims, f"set the image's {_BUILD_AGAIN}")
        is_overdue = moment.is_overdue(one.stored_at, grace_s=UNCLAIMED_S)
        if not one.claimed and not moment.idle and is_overdue:
            then = "read the master's log for why it stays"
            yield _of("owners", row, "no image claims it for two days", then)
    for digest in sorted((files or {}).keys() - {one.digest for one in rows}):
        yield _of(
            "owners",
            f"file artefacts/{digest[:2]}/{digest}",
            "is there, but the tables have no such artefact",
            "delete the file: it is built again when needed",
        )


def check_searches(
    conn: sa.Connection, moment: Moment, checked: Counter[str]
) -> Iterator[Violation]:
    """Each ends once, with what a report is made of or a reason."""
    query = sa.select(
        *(SEARCH.c.id, SEARCH.c.detail, SEARCH.c.ended_at),
        *words(SEARCH.c.state, SEARCH.c.kind),
        SEARCH.c.answer.is_not(None).label("has_answer"),
        SEARCH.c.breakage.is_not(None).label("has_breakage"),
    )
    for row in conn.execute(query.order_by(SEARCH.c.id).execution_options(yield_per=AT_ONCE)):
        checked["searches"] += 1
        for problem, then in _wrong_with(row, moment):
            yield _of("searches", f"search {row.id}", f"is {row.state}{problem}", then)


def _wrong_with(search: sa.Row[Any], moment: Moment) -> Iterator[tuple[str, str]]:
    """What is wrong with a search, with what to do."""
    if search.state in OPEN_SEARCHES:
        if search.ended_at is not None:
            yield ", but has a time of its end", "set it to NULL"
        if moment.idle:
            yield ", though nothing is measured for it", "read the master's log"
        return
    if search.ended_at is None:
        yield ", but not since when", "set ended_at"
    if search.has_answer if search.kind == SearchKind.EFFECT else search.has_breakage:
        return
    if search.state in FRUITFUL_SEARCHES:
        then = "set it to 'running' and ended_at to NULL: the broker plans from the evidence again"
        yield ", but there is nothing to compose a report of", then
    elif not search.detail and search.state != SearchState.CANCELLED:
        # Who cancels a search need not say why.
        yield ", without a report and without a reason", "say why in its column `detail`"


def check_untold(conn: sa.Connection, moment: Moment) -> Iterator[Violation]:
    """What must be mailed has a mail as soon as nothing holds it up, and after a day anyway.

    By the outbox's own rules: searches, and the ends of incidents.
    """
    for condition, what in (
        (is_unreported(), "is {}"),
        (is_untold_breakage(moment.now_s - _NEWS_S), "is {}"),
        (is_untold_recovery(), "is an incident that has ended"),
    ):
        columns = (SEARCH.c.id, SEARCH.c.ended_at, *words(SEARCH.c.state, SEARCH.c.breakage))
        query = sa.select(*columns).where(condition, SEARCH.c.ended_at.is_not(None))
        for row in conn.execute(query.order_by(SEARCH.c.id)):
            if _ending(row.breakage) == Ending.MENDED:  # which is nothing to tell
                continue
            settled_at_s = _settled_at_s(conn, row.id, row.ended_at)
            settled = settled_at_s is not None and moment.was_missed(settled_at_s)
            if settled or moment.was_missed(row.ended_at, grace_s=MAIL_WAIT_S):
                problem = f"{what.format(row.state)}, but there is no mail about it"
                then = "start the master: it writes the mail, or says in its log why it cannot"
                yield _of("searches", f"search {row.id}", problem, then)


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


def check_messages(
    conn: sa.Connection, moment: Moment, checked: Counter[str]
) -> Iterator[Violation]:
    """Each mail and notice is sent at most once, and says when; in an idle farm none waits."""
    checked["mails and notices"] = 0
    sent: dict[str, str] = {}
    for row, name, one in _messages(conn):
        checked["mails and notices"] += 1
        is_sent = one.state == ReportState.SENT
        if is_sent != (one.sent_at is not None):
            said = "is sent, but not when" if is_sent else "is not sent, but has a time of that"
            yield _of("messages", row, said, "set state and sent_at by the mail server's log")
        if is_sent and name in sent:
            twice = f"was sent as {name}, as {sent[name]} was"
            yield _of("messages", row, twice, "ask the mail server's log whether readers got two")
        if is_sent:
            sent.setdefault(name, row)
        if one.state in UNSENT and moment.idle:
            yield _of("messages", row, "waits to be sent", "see its column last_error for why")


def _messages(conn: sa.Connection) -> Iterator[tuple[str, str, sa.Row[Any]]]:
    """The rows of all mails and notices, without their text, and what tells each from others."""
    mails = sa.select(REPORT.c.id, REPORT.c.message_id, REPORT.c.sent_at, *words(REPORT.c.state))
    for row in conn.execute(mails.order_by(REPORT.c.id)):
        yield f"mail {row.id}", row.message_id, row
    names = ("id", "search_id", "kind", "target", "sent_at")
    notices = sa.select(*(NOTICE.c[name] for name in names), *words(NOTICE.c.state))
    for row in conn.execute(notices.order_by(NOTICE.c.id)):
        yield f"notice {row.id}", f"{row.kind} of search {row.search_id} to {row.target}", row


def _of(check: str, row: str, problem: str, then: str) -> Violation:
    return Violation(check=check, row=row, problem=problem, next=then)
