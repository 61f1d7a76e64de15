"""Values that no release writes, of all tables, and rows that name missing ones."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from buildbot_bench.archives.contents import digest_of_files
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.metric import WIDTH, pack_names, unpack_names
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.db.columns import ImageState, JsonText, ProbeReason
from buildbot_bench.plugin.db.probes import capture_digest
from buildbot_bench.plugin.db.schema import (
    AB_TEST_VARIANT,
    CAPTURE,
    COMMIT,
    IMAGE,
    ITERATION,
    METADATA,
    PATCH,
    PROBE,
    PROFILE,
    READ_FILES,
    SEARCH,
    VALUE_NAMES,
    VALUES,
)
from buildbot_bench.plugin.operations.health import Violation

# Of one column: a thousand that are wrong are one accident.
_MOST = 20
_AT_ONCE = 100
_SHOWN = 12  # digits of a digest
_BACKUP = "restore the newest backup that verify calls whole"
# Enumerations that the schema keeps as plain text.
_MORE_WORDS: dict[sa.Column[Any], type[StrEnum]] = {PROBE.c.failure_kind: FailureKind}
# Millions of boots have facts; they are read with the boot that they are of.
_TOO_MANY = frozenset({ITERATION.c.facts})
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
# What names a row by a digest is no foreign key: which of the two comes first is not said.
_BY_DIGEST = (
    (IMAGE.c.read_files, READ_FILES.c.digest),
    (PROFILE.c.digest, CAPTURE.c.digest),
    (SEARCH.c.fix_patch, PATCH.c.digest),
)


def check_values(conn: sa.Connection) -> Iterator[Violation]:
    """Find words that are in no enumeration, and JSON that is none or of another kind."""
    for table in METADATA.sorted_tables:
        for column in table.columns:
            if column in _MORE_WORDS:
                yield from _foreign(conn, column, [word.value for word in _MORE_WORDS[column]])
            elif isinstance(column.type, sa.Enum):
                yield from _foreign(conn, column, column.type.enums)
            elif isinstance(column.type, JsonText) and column not in _TOO_MANY:
                yield from _undecoded(conn, column)


def _foreign(conn: sa.Connection, column: sa.Column[Any], words: list[str]) -> Iterator[Violation]:
    text = sa.type_coerce(column, sa.String)
    query = sa.select(column.table.c.id, text.label("word")).where(text.not_in(words))
    for row in conn.execute(query.order_by(column.table.c.id).limit(_MOST)):
        yield _odd(column, row.id, row.word, f"one of {', '.join(words)}")


def _undecoded(conn: sa.Connection, column: sa.Column[Any]) -> Iterator[Violation]:
    decode = column.type.process_result_value  # type: ignore[attr-defined]
    text = sa.type_coerce(column, sa.String)
    query = sa.select(column.table.c.id, text.label("text")).where(text.is_not(None))
    found = 0
    in_order = query.order_by(column.table.c.id)
    for row in conn.execute(in_order.execution_options(yield_per=_AT_ONCE)):
        try:
            decode(row.text, conn.dialect)
        except _UNREADABLE:
            yield _odd(column, row.id, row.text, "JSON of that column")
            found += 1
        if found == _MOST:
            return


def _odd(column: sa.Column[Any], row_id: int, value: str, wanted: str) -> Violation:
    return Violation(
        check="values",
        row=f"{column.table.name} {row_id}",
        problem=f"{column.name} is {quoted(value)}, which is not {wanted}",
        next=f"{_BACKUP}, or set the column to what it was",
    )


def check_digests(conn: sa.Connection) -> Iterator[Violation]:
    """Find digests that are not those of what the tables keep beside them."""
    for table in (READ_FILES, PATCH):
        query = sa.select(table.c.id, table.c.digest, table.c.body).order_by(table.c.id)
        for row in conn.execute(query.execution_options(yield_per=_AT_ONCE)):
            found = hashlib.sha256(row.body).hexdigest()
            yield from check_digest(f"{table.name} {row.id}", "digest", row.digest, found)
    captures = sa.select(CAPTURE).order_by(CAPTURE.c.id)
    for row in conn.execute(captures.execution_options(yield_per=_AT_ONCE)):
        try:
            places = gzip.decompress(row.places) if row.places else b""
            found = capture_digest(gzip.decompress(row.body), row.packets, places)
        except (OSError, EOFError, zlib.error):
            found = "no readable stacks"
        yield from check_digest(f"{CAPTURE.name} {row.id}", "digest", row.digest, found)
    yield from _check_named(conn)


def _check_named(conn: sa.Connection) -> Iterator[Violation]:
    """Find lists of names that were changed, and named values that are not one for each name."""
    for row in conn.execute(sa.select(VALUE_NAMES).order_by(VALUE_NAMES.c.id)).all():
        try:
            names = unpack_names(row.body)
        except (*_UNREADABLE, OSError, EOFError, zlib.error):
            names = ()
        name = f"{VALUE_NAMES.name} {row.id}"
        yield from check_digest(name, "digest", row.digest, pack_names(names)[0])
        of_it = VALUES.c.names_id == row.id
        wrong = sa.func.length(VALUES.c.body) != WIDTH * len(names)
        for number in conn.execute(
            sa.select(VALUES.c.id).where(of_it, wrong).limit(_MOST)
        ).scalars():
            problem = f"body has not {len(names)} values, as {name} has names"
            yield Violation(
                check="values", row=f"{VALUES.name} {number}", problem=problem, next=_BACKUP
            )


def check_digest(
    row: str, column: str, told: str, found: str, of: str = "what it names"
) -> Iterator[Violation]:
    """A column of `row` (such as `image 3`) is the SHA-256 that was `found` of what it names."""
    if told != found:
        yield Violation(
            check="digests",
            row=row,
            problem=f"{column} is {told[:_SHOWN] or 'empty'}, but {of} has {found[:_SHOWN]}",
            next=f"{_BACKUP}: one of the two was changed since",
        )


def unvouched_kernels(conn: sa.Connection) -> dict[str, list[tuple[str, str]]]:
    """Return images whose kernel digest is not that of their manifest's files, by artefact.

    A kernel of another build than ours has no manifest, and one of a hostile build has any: what
    the digest is of can be read in the artefact alone. Each image is a row and its kernel digest.
    """
    manifest = sa.type_coerce(IMAGE.c.manifest, sa.String).label("manifest")
    query = sa.select(IMAGE.c.id, IMAGE.c.digest, IMAGE.c.kernel_digest, manifest).where(
        IMAGE.c.state == ImageState.BUILT,
        IMAGE.c.digest.is_not(None),
        IMAGE.c.kernel_digest.is_not(None),
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for row in conn.execute(query.order_by(IMAGE.c.id).execution_options(yield_per=_AT_ONCE)):
        if _of_manifest(row.manifest) != row.kernel_digest:
            found.setdefault(row.digest, []).append((f"image {row.id}", row.kernel_digest))
    return found


def _of_manifest(text: str | None) -> str:
    try:
        files = IMAGE.c.manifest.type.process_result_value(text, None)["files"]  # type: ignore[attr-defined]
        return digest_of_files(files.items())
    except _UNREADABLE:
        return ""


def check_sequences(conn: sa.Connection) -> Iterator[Violation]:
    """Find rows whose number does not follow the one before: commits of branches, variants.

    The boots of a probe are counted with the probe (plugin/operations/boots.py).
    """
    yield from _of_commits(conn)
    before = AB_TEST_VARIANT.alias("before")
    match = sa.and_(
        before.c.ab_test_id == AB_TEST_VARIANT.c.ab_test_id,
        before.c.ordinal == AB_TEST_VARIANT.c.ordinal - 1,
    )
    query = (
        sa.select(AB_TEST_VARIANT.c.id, AB_TEST_VARIANT.c.ordinal, AB_TEST_VARIANT.c.ab_test_id)
        .outerjoin(before, match)
        .where(AB_TEST_VARIANT.c.ordinal != 0, before.c.id.is_(None))
    )
    for row in conn.execute(query.order_by(AB_TEST_VARIANT.c.id).limit(_MOST)):
        variant = f"comparison {row.ab_test_id} has a variant {row.ordinal}"
        yield _gap(AB_TEST_VARIANT, row.id, f"{variant} and none {row.ordinal - 1}")


def _of_commits(conn: sa.Connection) -> Iterator[Violation]:
    """Find commits without the one before them on their branch, or with another one there.

    What a branch has is added in one piece from the first that was seen of it; imported commits
    stand alone.
    """
    imported = (
        sa.select(IMAGE.c.sha)
        .join(PROBE, PROBE.c.image_id == IMAGE.c.id)
        .where(PROBE.c.token == "", PROBE.c.reason == ProbeReason.BACKFILL)  # no job of the lab's
    )
    is_added = COMMIT.c.sha.not_in(imported)
    begins = (
        sa.select(COMMIT.c.branch, sa.func.min(COMMIT.c.position).label("position"))
        .where(is_added)
        .group_by(COMMIT.c.branch)
        .subquery()
    )
    before = COMMIT.alias("before")
    match = sa.and_(before.c.branch == COMMIT.c.branch, before.c.position == COMMIT.c.position - 1)
    is_alone = sa.and_(before.c.id.is_(None), COMMIT.c.position > begins.c.position, is_added)
    columns = (COMMIT.c.id, COMMIT.c.branch, COMMIT.c.position, before.c.sha)
    query = (
        sa.select(*columns)
        .outerjoin(before, match)
        .outerjoin(begins, begins.c.branch == COMMIT.c.branch)
        .where(sa.or_(is_alone, before.c.sha != COMMIT.c.parent_sha))
    )
    for row in conn.execute(query.order_by(COMMIT.c.branch, COMMIT.c.position).limit(_MOST)):
        branch, at = quoted(row.branch), row.position - 1
        other = f"branch {branch} has {str(row.sha)[:12]} at {at}, and not its parent"
        missing = other if row.sha else f"branch {branch} has no commit at {at}"
        yield _gap(COMMIT, row.id, missing)


def _gap(table: sa.Table, row_id: int, missing: str) -> Violation:
    return Violation(
        check="sequences",
        row=f"{table.name} {row_id}",
        problem=f"does not follow what is before it: {missing}",
        next=f"{_BACKUP}, or put the missing row back",
    )


def check_references(conn: sa.Connection) -> Iterator[Violation]:
    """Find rows that name one that is not there, at most twenty of each column."""
    keys = [
        (key.parent, key.column)
        for table in METADATA.sorted_tables
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name)
    ]
    for source, target in (*keys, *_BY_DIGEST):
        there = target.table.alias("there")
        missing = (
            sa.select(source.table.c.id, source)
            .outerjoin(there, there.c[target.name] == source)
            .where(source.is_not(None), there.c.id.is_(None))
        )
        yield from _dangling(conn, source, target.table.name, missing)
    # Boots that count for another image than their probe's.
    others = (
        sa.select(ITERATION.c.id, ITERATION.c.image_id, PROBE.c.id)
        .join(PROBE, PROBE.c.id == ITERATION.c.probe_id)
        .where(ITERATION.c.image_id != PROBE.c.image_id)
    )
    yield from _dangling(conn, ITERATION.c.image_id, "probe {}", others)


def _dangling(
    conn: sa.Connection, source: sa.Column[Any], target: str, query: sa.Select[Any]
) -> Iterator[Violation]:
    for row_id, value, *other in conn.execute(query.order_by(source.table.c.id).limit(_MOST)):
        named = f"{source.name} is {str(value)[:_SHOWN]}, which {target.format(*other)}"
        yield Violation(
            check="references",
            row=f"{source.table.name} {row_id}",
            problem=f"{named} does not have",
            next=f"{_BACKUP}, or set the column to NULL",
        )
