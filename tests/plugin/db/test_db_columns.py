"""What becomes of the annotation of a row's field."""

import pytest
import sqlalchemy as sa

from buildbot_bench.core.search import Answer
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import METADATA, HostileText, JsonText, table_of
from buildbot_bench.plugin.db.rows import CommitRow, ImageRow, ProbeRow
from buildbot_bench.plugin.db.schema import AB_TEST, COMMIT, IMAGE, ITERATION, PROBE, SEARCH


@pytest.mark.parametrize(
    ("column", "kind", "is_nullable"),
    [
        (IMAGE.c.label, HostileText, False),
        (IMAGE.c.reason, HostileText, True),
        (IMAGE.c.sha, sa.String, False),
        (IMAGE.c.read_files, sa.String, True),
        (IMAGE.c.size, sa.BigInteger, True),
        (IMAGE.c.created_at, sa.Double, False),
        (IMAGE.c.state, sa.Enum, False),
        (IMAGE.c.manifest, JsonText, True),
        (ITERATION.c.facts, JsonText, False),
        (PROBE.c.judged, sa.Boolean, False),
        (SEARCH.c.forecast, JsonText, True),
        (SEARCH.c.answer, JsonText, True),
    ],
)
def test_a_type_says_what_a_column_holds_and_whether_it_may_hold_nothing(column, kind, is_nullable):
    assert (type(column.type), column.nullable) == (kind, is_nullable)


def test_a_stored_dataclass_is_read_as_one():
    assert SEARCH.c.answer.type.kind is Answer
    assert IMAGE.c.manifest.type.kind is None


def test_a_default_is_the_columns_unless_every_insert_has_a_value():
    assert IMAGE.c.repository.server_default.arg == ""
    assert PROBE.c.serial.server_default.arg == "0"
    assert COMMIT.c.subject.server_default is None
    assert PROBE.c.attempt.default.arg == 0


def test_a_field_that_is_an_id_refers_to_its_table():
    (key,) = PROBE.c.image_id.foreign_keys
    assert key.column is IMAGE.c.id
    assert [c.name for t in METADATA.tables.values() for c in t.primary_key] == ["id"] * len(
        METADATA.tables
    )


def test_a_row_knows_its_table_and_what_is_kept_apart_has_no_column():
    assert [table_of(row) for row in (CommitRow, ImageRow, ProbeRow)] == [COMMIT, IMAGE, PROBE]
    assert table_of(AbTestRow) is AB_TEST
    assert {"variants", "further"}.isdisjoint(AB_TEST.c.keys())
