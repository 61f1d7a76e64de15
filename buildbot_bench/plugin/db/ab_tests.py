"""Queries of comparisons, their variants and patches."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import sqlalchemy as sa

from buildbot_bench.api.answers import AbTestState
from buildbot_bench.plugin.db.ab_test_rows import (
    AbTestImage,
    AbTestImageRow,
    AbTestRow,
    AbTestVariant,
    NewAbTest,
)
from buildbot_bench.plugin.db.columns import ImageState, ProbeReason
from buildbot_bench.plugin.db.images import in_doubt
from buildbot_bench.plugin.db.outbox import has_no_mail
from buildbot_bench.plugin.db.rows import ImageRow, IterationRow, PatchRow
from buildbot_bench.plugin.db.schema import (
    AB_TEST,
    AB_TEST_IMAGE,
    AB_TEST_VARIANT,
    IMAGE,
    ITERATION,
    PATCH,
    PROBE,
    SEARCH,
)
from buildbot_bench.plugin.db.sql import (
    Lock,
    ensure,
    fetch_all,
    row_by,
    serialise,
    swapped,
    values_of,
)


def add_patch(
    conn: sa.Connection,
    *,
    body: bytes,
    origin: str,
    requester: str,
    now: float,
    most_bytes: int | None = None,
) -> PatchRow | None:
    """Keep a patch; the same bytes stay with their first bringer.

    None, and nothing is kept, when the requester's patches would have more than `most_bytes`.
    """
    digest = hashlib.sha256(body).hexdigest()
    if most_bytes is not None:
        serialise(conn, Lock.PATCHES)
        known = patch(conn, digest)
        if known is None and patch_bytes(conn, requester) + len(body) > most_bytes:
            return None
        # Who brings it again needs it again: it is not deleted before its comparison is there.
        conn.execute(sa.update(PATCH).where(PATCH.c.digest == digest).values(fetched_at=now))
    others = {"body": body, "origin": origin, "requester": requester, "fetched_at": now}
    return ensure(conn, PatchRow, {"digest": digest}, others)


# The patch with a SHA-256 in hexadecimal.
patch = row_by(PatchRow, "digest")


def patch_bytes(conn: sa.Connection, requester: str) -> int:
    """How many bytes of a person's patches are kept."""
    size = sa.func.coalesce(sa.func.sum(sa.func.length(PATCH.c.body)), 0)
    return int(conn.execute(sa.select(size).where(PATCH.c.requester == requester)).scalar_one())


def forget_patches(conn: sa.Connection, before: float) -> int:
    """Delete the patches from before a time that no image, search or comparison is to have.

    Images that were held and whose comparisons were all rejected are to have none. Says how many.
    """
    serialise(conn, Lock.PATCHES)
    compared = (
        sa.select(AB_TEST.c.id)
        .join(AB_TEST_VARIANT, AB_TEST_VARIANT.c.ab_test_id == AB_TEST.c.id)
        .where(AB_TEST_VARIANT.c.image_id == IMAGE.c.id, AB_TEST.c.state != AbTestState.REJECTED)
    )
    has_it = IMAGE.c.variant.contains(PATCH.c.digest)
    needed = sa.or_(IMAGE.c.state != ImageState.HELD, compared.exists())
    image = sa.select(IMAGE.c.id).where(has_it, needed)
    search = sa.select(SEARCH.c.id).where(SEARCH.c.fix_patch == PATCH.c.digest)
    unused = sa.select(PATCH.c.id).where(
        PATCH.c.fetched_at < before, ~image.exists(), ~search.exists()
    )
    numbers = conn.execute(unused).scalars().all()
    conn.execute(sa.delete(PATCH).where(PATCH.c.id.in_(numbers)))
    return len(numbers)


Part = TypeVar("Part", AbTestVariant, AbTestImage)


def add_ab_test(conn: sa.Connection, wanted: NewAbTest, *, now: float) -> AbTestRow:
    """Ask for a comparison of variants; it runs from now on, or waits to be approved."""
    values = values_of(wanted) | {"created_at": now}
    variants = values.pop("variants")
    added = conn.execute(sa.insert(AB_TEST).values(**values).returning(AB_TEST.c.id)).scalar_one()
    _add_variants(conn, added, variants, first=0)
    (row,) = _with_variants(conn, sa.select(AB_TEST).where(AB_TEST.c.id == added))
    return row


def _add_variants(
    conn: sa.Connection, ab_test_id: int, variants: Iterable[AbTestVariant], *, first: int
) -> None:
    for ordinal, variant in enumerate(variants, start=first):
        columns = {"ab_test_id": ab_test_id, "ordinal": ordinal, **values_of(variant)}
        conn.execute(sa.insert(AB_TEST_VARIANT).values(**columns))


def _with_variants(conn: sa.Connection, query: sa.Select[Any]) -> list[AbTestRow]:
    found = [dict(row) for row in conn.execute(query).mappings()]
    ids = [row["id"] for row in found]
    variants = _parts(conn, AbTestVariant, AB_TEST_VARIANT, ids, "ordinal")
    further = _parts(conn, AbTestImage, AB_TEST_IMAGE, ids, "place", "number", "id")
    return [
        AbTestRow(**row, variants=tuple(variants[row["id"]]), further=tuple(further[row["id"]]))
        for row in found
    ]


def _parts(
    conn: sa.Connection, kind: type[Part], table: sa.Table, ids: Collection[int], *order: str
) -> Mapping[int, list[Part]]:
    """The parts of some comparisons, by the comparison."""
    query = sa.select(table).where(table.c.ab_test_id.in_(ids))
    names = [field.name for field in fields(kind)]
    parts: dict[int, list[Part]] = defaultdict(list)
    for row in conn.execute(query.order_by(*(table.c[name] for name in order))).mappings():
        parts[row["ab_test_id"]].append(kind(**{name: row[name] for name in names}))
    return parts


def want_images(
    conn: sa.Connection, ab_test_id: int, wanted: Iterable[AbTestImage]
) -> AbTestRow | None:
    """Ask for boots of further images; nobody takes back what was asked for."""
    for one in wanted:
        key = {"ab_test_id": ab_test_id} | {
            name: getattr(one, name) for name in ("place", "testbed", "workload", "number")
        }
        others = {"image_id": one.image_id, "boots": one.boots}
        row = ensure(conn, AbTestImageRow, key, others)
        if row.boots < one.boots:
            update = sa.update(AB_TEST_IMAGE).where(AB_TEST_IMAGE.c.id == row.id)
            conn.execute(update.values(boots=one.boots))
    return ab_test(conn, ab_test_id)


def ab_test(conn: sa.Connection, ab_test_id: int) -> AbTestRow | None:
    """The comparison with that id."""
    found = _with_variants(conn, sa.select(AB_TEST).where(AB_TEST.c.id == ab_test_id))
    return found[0] if found else None


def ab_tests(
    conn: sa.Connection,
    states: Collection[AbTestState | str] | None = None,
    limit: int | None = None,
) -> list[AbTestRow]:
    """The comparisons in certain states, or all; newest first."""
    query = sa.select(AB_TEST).order_by(AB_TEST.c.id.desc()).limit(limit)
    if states is not None:
        query = query.where(AB_TEST.c.state.in_(states))
    return _with_variants(conn, query)


def change_ab_test(
    conn: sa.Connection, row: AbTestRow, /, *, more: Sequence[AbTestVariant] = (), **columns: Any
) -> AbTestRow | None:
    """The comparison with columns changed and `more` variants; None when another was quicker."""
    if not swapped(conn, row, columns):
        return None
    _add_variants(conn, row.id, more, first=len(row.variants))
    return ab_test(conn, row.id)


def scheduled_ab_tests(conn: sa.Connection, requester: str, prefix: str) -> list[AbTestRow]:
    """The comparisons that bench.yml asked for under keys that begin so, newest first."""
    begins = AB_TEST.c.key.startswith(prefix, autoescape=True)
    # No database finds the beginning of a text by every index; of one requester there are few.
    query = sa.select(AB_TEST).where(AB_TEST.c.requester == requester, begins)
    return _with_variants(conn, query.order_by(AB_TEST.c.id.desc()))


def untold_ab_tests(conn: sa.Connection, ended_since: float) -> list[AbTestRow]:
    """Those of bench.yml that ended since then by themselves and have no mail, oldest first."""
    query = sa.select(AB_TEST).where(
        AB_TEST.c.key.is_not(None),
        AB_TEST.c.state.in_([AbTestState.DONE, AbTestState.UNTESTABLE, AbTestState.FAILED]),
        AB_TEST.c.ended_at >= ended_since,
        has_no_mail("comparison", AB_TEST),
    )
    return _with_variants(conn, query.order_by(AB_TEST.c.id))


def iterations_of_ab_test(conn: sa.Connection, ab_test_id: int) -> list[IterationRow]:
    """What a comparison asked for and can believe, in the primary units, in the order measured."""
    query = (
        sa.select(ITERATION)
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .where(PROBE.c.ab_test_id == ab_test_id, ITERATION.c.is_primary, ~in_doubt())
        .order_by(ITERATION.c.at_s, ITERATION.c.id)
    )
    return fetch_all(conn, query, IterationRow)


def images_of_ab_test(conn: sa.Connection, ab_test_id: int) -> list[ImageRow]:
    """The images that a comparison boots, the variants' first ones and further ones."""
    images = sa.union(
        *(
            sa.select(table.c.image_id).where(table.c.ab_test_id == ab_test_id)
            for table in (AB_TEST_VARIANT, AB_TEST_IMAGE)
        )
    )
    query = sa.select(IMAGE).where(IMAGE.c.id.in_(images)).order_by(IMAGE.c.id)
    return fetch_all(conn, query, ImageRow)


def known_iterations(conn: sa.Connection, ab_test_id: int) -> list[IterationRow]:
    """What others measured of its further images before a comparison began, in the order measured.

    As `iterations_of_ab_test` gives its own. Those of control images are the lab's witnesses.
    """
    further = sa.select(AB_TEST_IMAGE.c.image_id).where(AB_TEST_IMAGE.c.ab_test_id == ab_test_id)
    begun = sa.select(AB_TEST.c.created_at).where(AB_TEST.c.id == ab_test_id).scalar_subquery()
    query = (
        sa.select(ITERATION)
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .where(
            ITERATION.c.image_id.in_(further),
            sa.or_(PROBE.c.ab_test_id.is_(None), PROBE.c.ab_test_id != ab_test_id),
            PROBE.c.reason != ProbeReason.CONTROL,
            PROBE.c.created_at < begun,
            ITERATION.c.is_primary,
            ~in_doubt(),
        )
        .order_by(ITERATION.c.at_s, ITERATION.c.id)
    )
    return fetch_all(conn, query, IterationRow)


def newest_epoch(conn: sa.Connection, testbed: str) -> str | None:
    """The epoch in which a testbed measured last, by its own clock; None before it did."""
    measured = sa.and_(ITERATION.c.testbed == testbed, ITERATION.c.value.is_not(None))
    newest_first = (ITERATION.c.at_s.desc(), ITERATION.c.id.desc())
    query = sa.select(ITERATION.c.epoch).where(measured).order_by(*newest_first)
    return conn.execute(query.limit(1)).scalar()
