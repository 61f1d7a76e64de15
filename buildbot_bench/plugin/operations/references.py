"""Rows of any table that name missing rows."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from buildbot_bench.core.operations import DanglingReference
from buildbot_bench.plugin.db.schema import (
    CAPTURE,
    IMAGE,
    ITERATION,
    METADATA,
    PATCH,
    PROBE,
    PROFILE,
    READ_FILES,
    SEARCH,
)

# Of one column: a thousand that are wrong are one accident.
_MOST = 20
# What names a row by a digest is no foreign key: which of the two comes first is not said.
_BY_DIGEST = (
    (IMAGE.c.read_files, READ_FILES.c.digest),
    (PROFILE.c.digest, CAPTURE.c.digest),
    (SEARCH.c.fix_patch, PATCH.c.digest),
)


def dangling(conn: sa.Connection) -> Iterator[DanglingReference]:
    """At most twenty of each column."""
    keys = [
        (key.parent, key.column)
        for table in METADATA.sorted_tables
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name)
    ]
    for source, target in (*keys, *_BY_DIGEST):
        yield from _dangling(conn, source, target)
    yield from _of_other_images(conn)


def _dangling(
    conn: sa.Connection, source: sa.Column[object], target: sa.Column[object]
) -> Iterator[DanglingReference]:
    there = target.table.alias("there")
    match = there.c[target.name] == source
    query = (
        sa.select(source.table.c.id, source)
        .outerjoin(there, match)
        .where(source.is_not(None), there.c.id.is_(None))
    )
    for row in conn.execute(query.order_by(source.table.c.id).limit(_MOST)):
        yield DanglingReference(
            table=source.table.name,
            row_id=row[0],
            column=source.name,
            value=str(row[1])[:12],
            target=target.table.name,
        )


def _of_other_images(conn: sa.Connection) -> Iterator[DanglingReference]:
    """Boots that count for another image than their probe's."""
    query = (
        sa.select(ITERATION.c.id, ITERATION.c.image_id, PROBE.c.id.label("probe"))
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .where(ITERATION.c.image_id != PROBE.c.image_id)
    )
    for row in conn.execute(query.order_by(ITERATION.c.id).limit(_MOST)):
        yield DanglingReference(
            table=ITERATION.name,
            row_id=row.id,
            column="image_id",
            value=str(row.image_id),
            target=f"probe {row.probe}",
        )
