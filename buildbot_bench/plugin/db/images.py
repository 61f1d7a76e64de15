"""Queries on images, on the artefacts of their kernels, and on quarantines by control images."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from buildbot_bench.api.answers import AbTestState, ProbeState
from buildbot_bench.core.revision import repository_of
from buildbot_bench.plugin.db.columns import (
    OPEN_PROBES,
    OPEN_PROFILES,
    UNBUILT,
    ImageState,
    ProbeReason,
)
from buildbot_bench.plugin.db.commits import arrived_on, line_of
from buildbot_bench.plugin.db.commits import images_of_history as of_history
from buildbot_bench.plugin.db.finding_rows import QuarantineRow
from buildbot_bench.plugin.db.outbox import has_no_mail
from buildbot_bench.plugin.db.probes import OF_COMMITS
from buildbot_bench.plugin.db.rows import ImageRow, IterationRow, ProbeRow, SeriesName
from buildbot_bench.plugin.db.schema import (
    AB_TEST,
    AB_TEST_IMAGE,
    AB_TEST_VARIANT,
    ARTEFACT,
    IMAGE,
    ITERATION,
    PROBE,
    PROFILE,
    QUARANTINE,
    ArtefactRow,
)
from buildbot_bench.plugin.db.sql import ensure, fetch, fetch_all, of_series

_kernel = sa.func.coalesce(IMAGE.c.kernel_digest, IMAGE.c.digest)  # ImageRow.kernel


def ensure_image(
    conn: sa.Connection,
    /,
    *,
    variant: str,
    ordinal: int,
    now: float,
    branch: str | None = None,
    **columns: Any,
) -> ImageRow:
    """The image of a variant with that ordinal; wanted, of that branch, if it is new.

    It is of the branch's repository: two may hold the same commit.
    """
    key = {"repository": repository_of(branch or ""), "variant": variant, "ordinal": ordinal}
    new = {"state": ImageState.WANTED, "branch": branch, "created_at": now, "changed_at": now}
    return ensure(conn, ImageRow, key, new | columns)


def image_at(conn: sa.Connection, branch: str, position: int) -> ImageRow | None:
    """The first image of the plain revision that a branch has at a position."""
    query = sa.select(IMAGE).where(in_span(conn, position, position, branch))
    return fetch(conn, query.order_by(IMAGE.c.ordinal), ImageRow)


def images(conn: sa.Connection, state: ImageState | str | None = None) -> list[ImageRow]:
    """The images in a state, or all; oldest request first."""
    query = sa.select(IMAGE).order_by(IMAGE.c.id)
    if state is not None:
        query = query.where(IMAGE.c.state == state)
    return fetch_all(conn, query, ImageRow)


def images_between(
    conn: sa.Connection, first_position: int, last_position: int, branch: str
) -> list[ImageRow]:
    """The images of a branch's plain revisions of a span, by position and ordinal."""
    return _by_position(conn, in_span(conn, first_position, last_position, branch))


def images_of_history(
    conn: sa.Connection, branch: str, first_position: int, last_position: int
) -> list[ImageRow]:
    """The images of a branch's plain revisions of a span, those from before the farm among them."""
    between = IMAGE.c.position.between(first_position, last_position)
    return _by_position(conn, between, of_history(line_of(conn, branch)))


def all_images_between(
    conn: sa.Connection, first_position: int, last_position: int, repository: str
) -> list[ImageRow]:
    """The images of all variants of a repository's revisions of a span, by position and ordinal."""
    between = IMAGE.c.position.between(first_position, last_position)
    return _by_position(conn, between, IMAGE.c.repository == repository)


def images_of_variants(
    conn: sa.Connection, variants: Collection[str], repository: str
) -> list[ImageRow]:
    """The images of some variants of a repository's revisions, by position and ordinal."""
    return _by_position(conn, IMAGE.c.repository == repository, IMAGE.c.variant.in_(variants))


def _by_position(conn: sa.Connection, *chosen: sa.ColumnElement[bool]) -> list[ImageRow]:
    order = (IMAGE.c.position, IMAGE.c.ordinal, IMAGE.c.id)
    return fetch_all(conn, sa.select(IMAGE).where(*chosen).order_by(*order), ImageRow)


def measured_twin(
    conn: sa.Connection, row: ImageRow, series: SeriesName, *, branch: str
) -> ImageRow | None:
    """The newest older image with the same kernel and a value on that series.

    None unless the nearest older revision of the branch that is built has that kernel: one that
    came back after others is worth a boot.
    """
    older = sa.and_(in_span(conn, 0, row.position - 1, branch), IMAGE.c.ordinal == row.ordinal)
    nearest = sa.select(IMAGE).where(older, _kernel.is_not(None))
    newest_first = IMAGE.c.position.desc()
    predecessor = fetch(conn, nearest.order_by(newest_first), ImageRow)
    if predecessor is None or predecessor.kernel != row.kernel:
        return None
    value = sa.select(ITERATION.c.id).where(
        *of_series(ITERATION, series),
        ITERATION.c.image_id == IMAGE.c.id,
        ITERATION.c.tunables == "",
        ITERATION.c.value.is_not(None),
        ~in_doubt(),
    )
    twins = sa.select(IMAGE).where(older, _kernel == row.kernel, value.exists())
    return fetch(conn, twins.order_by(newest_first), ImageRow)


def built_before(conn: sa.Connection, row: ImageRow, *, branch: str) -> ImageRow | None:
    """The image of that ordinal of the nearest older revision of a branch that was built."""
    older = sa.and_(IMAGE.c.position < row.position, IMAGE.c.ordinal == row.ordinal)
    built = sa.and_(older, of_history(line_of(conn, branch)), _kernel.is_not(None))
    query = sa.select(IMAGE).where(built).order_by(IMAGE.c.position.desc())
    return fetch(conn, query.limit(1), ImageRow)


def in_span(
    conn: sa.Connection, first_position: int, last_position: int, branch: str | None
) -> sa.ColumnElement[bool]:
    """The condition for images of plain revisions of a span, of a branch's line if it is named."""
    condition = sa.and_(
        IMAGE.c.position.between(first_position, last_position), IMAGE.c.variant == IMAGE.c.sha
    )
    if branch is None:
        return condition
    return sa.and_(condition, arrived_on(line_of(conn, branch)))


def unbuilt_elsewhere(conn: sa.Connection, repositories: Collection[str]) -> list[ImageRow]:
    """The images that are wanted or built of other repositories than these."""
    query = sa.select(IMAGE).where(
        IMAGE.c.state.in_(UNBUILT),
        IMAGE.c.repository.not_in(repositories),
    )
    return fetch_all(conn, query, ImageRow)


def open_probes_elsewhere(conn: sa.Connection, repositories: Collection[str]) -> dict[int, str]:
    """The open requests for images of other repositories than these, each with the repository."""
    query = (
        sa.select(PROBE.c.id, IMAGE.c.repository)
        .join(IMAGE, IMAGE.c.id == PROBE.c.image_id)
        .where(
            PROBE.c.state.in_(OPEN_PROBES),
            IMAGE.c.repository.not_in(repositories),
        )
    )
    return {row.id: row.repository for row in conn.execute(query)}


def ab_tests_elsewhere(conn: sa.Connection, repositories: Collection[str]) -> dict[int, str]:
    """The comparisons that go on with a variant of another repository than these, each with it."""
    goes_on = AB_TEST.c.state.in_([AbTestState.RUNNING, AbTestState.AWAITING])
    found: dict[int, str] = {}
    for kept in (AB_TEST_VARIANT, AB_TEST_IMAGE):
        query = (
            sa.select(AB_TEST.c.id, IMAGE.c.repository)
            .select_from(AB_TEST.join(kept).join(IMAGE))
            .where(goes_on, IMAGE.c.repository.not_in(repositories))
        )
        found |= {row.id: row.repository for row in conn.execute(query)}
    return found


_CLAIMED = sa.and_(IMAGE.c.digest == ARTEFACT.c.digest, IMAGE.c.state == ImageState.BUILT)


def keep_artefact(conn: sa.Connection, *, digest: str, size: int, now: float) -> ArtefactRow:
    """Say that an artefact is about to be stored; its age counts from now on."""
    row = ensure(conn, ArtefactRow, {"digest": digest}, {"size": size, "stored_at": now})
    conn.execute(sa.update(ARTEFACT).where(ARTEFACT.c.id == row.id).values(stored_at=now))
    return row


def artefacts(conn: sa.Connection) -> list[ArtefactRow]:
    """All artefacts, oldest first."""
    query = sa.select(ARTEFACT).order_by(ARTEFACT.c.stored_at, ARTEFACT.c.id)
    return fetch_all(conn, query, ArtefactRow)


def claimed_artefacts(conn: sa.Connection) -> dict[int, str]:
    """The digest of each image that is built."""
    query = sa.select(IMAGE.c.id, IMAGE.c.digest).where(IMAGE.c.state == ImageState.BUILT)
    return {row.id: row.digest for row in conn.execute(query)}


def release_artefact(conn: sa.Connection, digest: str) -> None:
    """Take back what images say of an artefact: they are to be built again when asked for."""
    claims = sa.update(IMAGE).where(IMAGE.c.digest == digest, IMAGE.c.state == ImageState.BUILT)
    conn.execute(claims.values(state=ImageState.DROPPED, version=IMAGE.c.version + 1))


def forget_artefact(conn: sa.Connection, digest: str) -> None:
    """Forget an artefact whose file is gone, unless it was built anew meanwhile."""
    claimed = sa.select(IMAGE.c.id).where(_CLAIMED)
    conn.execute(sa.delete(ARTEFACT).where(ARTEFACT.c.digest == digest, ~claimed.exists()))


def needed_images(conn: sa.Connection) -> set[int]:
    """The images that probes and profiles wait for, variants of comparisons, and control images."""
    open_probes = PROBE.c.state.in_(OPEN_PROBES)
    of_control = PROBE.c.reason == ProbeReason.CONTROL
    open_profiles = PROFILE.c.state.in_(OPEN_PROFILES)
    queries = (
        sa.select(PROBE.c.image_id).where(sa.or_(open_probes, of_control)),
        sa.select(PROFILE.c.image_id).where(open_profiles),
        sa.select(AB_TEST_VARIANT.c.image_id),
        sa.select(AB_TEST_IMAGE.c.image_id),
    )
    return {image for query in queries for image in conn.execute(query).scalars()}


def built_places(conn: sa.Connection) -> dict[int, tuple[str, int]]:
    """Repository and position of each built image."""
    query = sa.select(IMAGE.c.id, IMAGE.c.repository, IMAGE.c.position)
    rows = conn.execute(query.where(IMAGE.c.state == ImageState.BUILT))
    return {row.id: (row.repository, row.position) for row in rows}


def control_probes(conn: sa.Connection, testbed: str, limit: int | None = None) -> list[ProbeRow]:
    """The newest requests for the control image of a testbed, oldest first."""
    query = sa.select(PROBE).where(
        PROBE.c.testbed == testbed, PROBE.c.reason == ProbeReason.CONTROL
    )
    return fetch_all(conn, query.order_by(PROBE.c.id.desc()).limit(limit), ProbeRow)[::-1]


def iterations_of_probes(conn: sa.Connection, probe_ids: Collection[int]) -> list[IterationRow]:
    """The iterations of some probes in their primary units, in the order measured."""
    query = sa.select(ITERATION).where(ITERATION.c.probe_id.in_(probe_ids), ITERATION.c.is_primary)
    return fetch_all(conn, query.order_by(ITERATION.c.at_s, ITERATION.c.id), IterationRow)


def commits_measured_since(conn: sa.Connection, testbed: str, since_s: float) -> list[ProbeRow]:
    """The requests for commits on a testbed that were answered after a time."""
    query = sa.select(PROBE).where(
        PROBE.c.testbed == testbed,
        PROBE.c.reason.in_(OF_COMMITS),
        PROBE.c.state == ProbeState.DONE,
        PROBE.c.ended_at > since_s,
    )
    return fetch_all(conn, query.order_by(PROBE.c.id), ProbeRow)


def of_control(testbed: str) -> sa.ColumnElement[bool]:
    """The condition for iterations of a testbed's control image.

    They are the lab's witnesses: a thousand boots of one image would be all that noise is learnt
    from, and a search that has it in its range would weigh nothing else.
    """
    asked = sa.select(PROBE.c.id).where(
        PROBE.c.testbed == testbed, PROBE.c.reason == ProbeReason.CONTROL
    )
    return ITERATION.c.probe_id.in_(asked)


def begin_quarantine(
    conn: sa.Connection, /, *, probe_id: int, now: float, **columns: Any
) -> QuarantineRow:
    """The quarantine that a round of the control image began; a known one stays as it is."""
    return ensure(conn, QuarantineRow, {"probe_id": probe_id}, {**columns, "begun_at": now})


def quarantines(
    conn: sa.Connection, testbed: str | None = None, *, open_only: bool = False
) -> list[QuarantineRow]:
    """The quarantines of a testbed or of all, oldest first; those that last, if wanted."""
    query = sa.select(QUARANTINE).order_by(QUARANTINE.c.id)
    if testbed is not None:
        query = query.where(QUARANTINE.c.testbed == testbed)
    if open_only:
        query = query.where(QUARANTINE.c.ended_at.is_(None))
    return fetch_all(conn, query, QuarantineRow)


def untold_quarantines(conn: sa.Connection) -> list[QuarantineRow]:
    """Those that nobody wrote the mail of yet, oldest first."""
    query = sa.select(QUARANTINE).where(has_no_mail("quarantine", QUARANTINE))
    return fetch_all(conn, query.order_by(QUARANTINE.c.id), QuarantineRow)


def doubted(conn: sa.Connection, row: QuarantineRow) -> tuple[int, int]:
    """How many iterations a quarantine puts in doubt, of how many images but control images."""
    query = sa.select(
        sa.func.count(sa.distinct(ITERATION.c.id)), sa.func.count(sa.distinct(ITERATION.c.image_id))
    ).where(
        ITERATION.c.testbed == row.testbed,
        ITERATION.c.epoch == row.epoch,
        ITERATION.c.is_primary,
        ITERATION.c.at_s > row.since_s,
        ITERATION.c.at_s <= (row.ended_at or row.begun_at),
        ~of_control(row.testbed),
    )
    iterations, images = conn.execute(query).one()
    return int(iterations), int(images)


def in_doubt() -> sa.ColumnElement[bool]:
    """The condition for iterations that ended while their testbed was not to be believed.

    One that was still running when the quarantine began is among them: the mark is the span, so
    that no iteration that is recorded late escapes it. In another epoch the lab was another one.
    """
    doubted = sa.select(QUARANTINE.c.id).where(
        QUARANTINE.c.testbed == ITERATION.c.testbed,
        QUARANTINE.c.epoch == ITERATION.c.epoch,
        QUARANTINE.c.since_s < ITERATION.c.at_s,
        sa.or_(QUARANTINE.c.ended_at.is_(None), QUARANTINE.c.ended_at >= ITERATION.c.at_s),
        ~QUARANTINE.c.trusted,
    )
    return doubted.correlate(ITERATION).exists()
