"""The tables come to be, once, whoever starts first and however often."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
from operator import itemgetter
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.db import sql
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.sql import VERSION_TABLE, take_write_lock, upgrade
from buildbot_bench.plugin.db.store import BenchStore
from tests.fakes.database import DirectPool
from tests.fakes.earlier_farms import Rows, all_rows, earlier_farm, fill, upgrade_to

MASTERS = 3
EARLIER_FARM = "before_judgements.sql"


def is_current(engine: sa.Engine) -> bool:
    with engine.connect() as conn:
        return sql.is_current(conn)


async def test_an_empty_database_is_brought_up_to_date(empty):
    store = BenchStore(DirectPool(empty))
    assert not is_current(empty)
    await store.upgrade()
    assert is_current(empty)


async def test_asking_whether_tables_are_current_creates_none(empty):
    is_current(empty)
    assert sa.inspect(empty).get_table_names() == []


async def test_upgrading_twice_changes_nothing(store, engine):
    await store.add_commits("main", [])
    await store.upgrade()
    assert is_current(engine)


def test_the_migrations_lead_to_the_schema(engine):
    with engine.connect() as conn:
        context = MigrationContext.configure(
            conn, opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, METADATA) == []


async def test_buildbots_own_version_is_left_alone(empty):
    with empty.begin() as conn:
        conn.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        conn.execute(sa.text("INSERT INTO alembic_version VALUES ('buildbot')"))
    await BenchStore(DirectPool(empty)).upgrade()
    with empty.connect() as conn:
        assert conn.execute(sa.text("SELECT version_num FROM alembic_version")).all() == [
            ("buildbot",)
        ]


async def test_a_database_of_a_newer_release_is_refused(empty):
    store = BenchStore(DirectPool(empty))
    await store.upgrade()
    with empty.begin() as conn:
        conn.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    assert not is_current(empty)
    with pytest.raises(UsageError, match=r"9999.*newer buildbot-bench"):
        await store.upgrade()


def test_another_database_is_refused_by_name():
    with pytest.raises(UsageError, match=r"mysql.*postgresql\+psycopg"):
        upgrade(SimpleNamespace(dialect=SimpleNamespace(name="mysql")))


async def test_a_failed_upgrade_leaves_nothing_behind(empty):
    with empty.begin() as conn:
        conn.execute(sa.text("CREATE TABLE bench_report (in_the_way INTEGER)"))
    with pytest.raises(sa.exc.DBAPIError):
        await BenchStore(DirectPool(empty)).upgrade()
    assert sa.inspect(empty).get_table_names() == ["bench_report"]


def _start_master(url: str, together, outcomes) -> None:
    engine = sa.create_engine(url)
    together.wait()
    try:
        with engine.begin() as conn:
            take_write_lock(conn)
            upgrade(conn)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test shall show it
        outcomes.put(repr(error))
    else:
        outcomes.put("upgraded")


def test_masters_that_start_at_once_do_not_collide(empty):
    spawn = multiprocessing.get_context("spawn")
    together, outcomes = spawn.Barrier(MASTERS), spawn.Queue()
    url = empty.url.render_as_string(hide_password=False)
    masters = [
        spawn.Process(target=_start_master, args=(url, together, outcomes)) for _ in range(MASTERS)
    ]
    for master in masters:
        master.start()
    assert [outcomes.get(timeout=120) for _ in masters] == ["upgraded"] * MASTERS
    for master in masters:
        master.join()


def test_no_row_vanishes_with_another():
    keys = [key for table in METADATA.tables.values() for key in table.foreign_keys]
    assert keys
    assert {key.ondelete for key in keys} == {None}


def test_mails_outlive_the_change_that_lets_them_be_about_something_else(empty):
    upgrade_to(empty, "0003")
    search = dict.fromkeys(("branch", "testbed", "workload", "unit", "requester"), "x")
    search |= {"id": 7, "old_sha": "a", "old_position": 1, "new_sha": "b", "new_position": 2}
    search |= {"min_effect": 0.02, "error": 0.01, "reason": "person", "state": "found"}
    mail = {"id": 3, "search_id": 7, "state": "new", "message_id": "<1@x>", "subject": "s"}
    mail |= {"recipients": "[]", "message": b"m", "attempts": 1, "next_try_at": 9, "version": 2}
    with empty.begin() as conn:
        for table, row in (("search", search | {"version": 0}), ("report", mail)):
            names = ", ".join(row)
            values = ", ".join(f":{name}" for name in row)
            query = f"INSERT INTO bench_{table} ({names}, created_at) VALUES ({values}, 1)"
            conn.execute(sa.text(query), row)
    upgrade_to(empty, "head")
    with empty.connect() as conn:
        (kept,) = conn.execute(sa.text("SELECT * FROM bench_report")).mappings()
    assert kept["key"] == "search:7"
    assert {name: kept[name] for name in mail} == mail


def test_kernels_from_before_are_known_to_lie_there(empty):
    upgrade_to(empty, "0007")
    built = {"sha": "a", "position": 1, "label": "r1", "ordinal": 0, "attempt": 0, "version": 1}
    rows = [
        built | {"variant": "a", "state": "built", "digest": "d" * 64, "size": 9, "changed_at": 2},
        built | {"variant": "b", "state": "built", "digest": "d" * 64, "size": 9, "changed_at": 5},
        built | {"variant": "c", "state": "untestable", "digest": None, "size": 0, "changed_at": 7},
    ]
    names, values = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
    with empty.begin() as conn:
        query = f"INSERT INTO bench_image ({names}, created_at) VALUES ({values}, 1)"
        conn.execute(sa.text(query), rows)
    upgrade_to(empty, "head")
    with empty.connect() as conn:
        kept = conn.execute(sa.text("SELECT digest, size, stored_at FROM bench_artefact")).all()
    assert kept == [("d" * 64, 9, 5.0)]


def test_kernels_that_had_the_digest_of_nothing_are_told_apart_again(empty):
    upgrade_to(empty, "0011")
    built = {"sha": "a", "position": 1, "label": "r1", "ordinal": 0, "attempt": 0, "version": 1}
    built |= {"state": "built", "size": 9, "changed_at": 2}
    nothing = hashlib.sha256(b"").hexdigest()
    rows = [
        built | {"variant": "a", "digest": "d" * 64, "kernel_digest": nothing},
        built | {"variant": "b", "digest": "e" * 64, "kernel_digest": "f" * 64},
    ]
    names, values = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
    with empty.begin() as conn:
        query = f"INSERT INTO bench_image ({names}, created_at) VALUES ({values}, 1)"
        conn.execute(sa.text(query), rows)
    upgrade_to(empty, "head")
    with empty.connect() as conn:
        query = "SELECT digest, kernel_digest FROM bench_image ORDER BY variant"
        assert conn.execute(sa.text(query)).all() == [("d" * 64, None), ("e" * 64, "f" * 64)]


def test_captures_from_before_are_of_no_known_number_of_packets(empty):
    upgrade_to(empty, "0012")
    row = {"digest": "d" * 64, "counter": "c", "taken_at": 1.0, "body": b"b"}
    names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    with empty.begin() as conn:
        conn.execute(sa.text(f"INSERT INTO bench_capture ({names}) VALUES ({values})"), row)
    upgrade_to(empty, "head")
    with empty.connect() as conn:
        kept = conn.execute(sa.text("SELECT digest, packets, places FROM bench_capture")).all()
    assert kept == [("d" * 64, 0, None)]


def test_captures_of_both_sides_are_found_again_by_the_places_of_their_variants(empty):
    upgrade_to(empty, "0018")
    image = {"id": 1, "sha": "a", "position": 1, "label": "r1", "ordinal": 0, "attempt": 0}
    image |= {"variant": "a", "state": "built", "created_at": 1, "changed_at": 1, "version": 1}
    of_one = {"token": "t", "image_id": 1, "testbed": "apu", "workload": "new", "tunables": ""}
    of_one |= {"state": "done", "attempt": 0, "created_at": 1, "version": 1}
    keys = ("ab-test:2:apu:new:base", "ab-test:2:apu:new:new", "search:2:new")
    with empty.begin() as conn:
        for table, row in (
            ("image", image),
            *(("profile", of_one | {"id": n, "key": key}) for n, key in enumerate(keys)),
        ):
            names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
            conn.execute(sa.text(f"INSERT INTO bench_{table} ({names}) VALUES ({values})"), row)
    upgrade_to(empty, "head")
    with empty.connect() as conn:
        kept = conn.execute(sa.text("SELECT key FROM bench_profile ORDER BY id")).scalars().all()
    assert kept == ["ab-test:2:apu:new:0", "ab-test:2:apu:new:1", "search:2:new"]


_RENAMED_TABLES = {"bench_comparison": "bench_judgement", "bench_trial": "bench_ab_test"}
_RENAMED_COLUMNS = {
    ("bench_mark", "comparison_id"): "judgement_id",
    ("bench_trial", "lanes"): "series",
    ("bench_probe", "trial_id"): "ab_test_id",
    ("bench_profile", "trial_id"): "ab_test_id",
}
# What is now a row of its own of each of a comparison's variants, which were two.
_OF_A_SIDE = ("image_id", "tunables", "label")
# What an old farm has none of.
_NEW_TABLES = (
    *("bench_ab_test_image", "bench_read_files", "bench_incident_series"),
    *("bench_dropped_commit", "bench_lease", "bench_metric", "bench_share"),
    "bench_change",
)


def _renamed(table: str, row: dict[str, object]) -> dict[str, object]:
    row = {_RENAMED_COLUMNS.get((table, name), name): value for name, value in row.items()}
    key = row.get("key")
    if table in {"bench_probe", "bench_profile"} and str(key).startswith("trial:"):
        row["key"] = f"ab-test:{str(key).removeprefix('trial:')}"
    if table == "bench_profile":
        for ordinal, side in enumerate(("base", "new")):
            row["key"] = re.sub(f"^(ab-test:.*:){side}$", rf"\g<1>{ordinal}", str(row["key"]))
    return row


def _variants(ab_tests: Rows) -> Rows:
    """The variants that comparisons had as columns, which are taken off."""
    sides = [
        [ab_test.pop(f"{side}_{what}") for what in _OF_A_SIDE]
        for side in ("base", "new")
        for ab_test in ab_tests
    ]
    assert sides
    owners = [ab_test["id"] for ab_test in ab_tests]
    return [
        {
            "id": number + 1,
            "ab_test_id": owners[number % len(owners)],
            "ordinal": number // len(owners),
            **dict(zip(_OF_A_SIDE, side, strict=True)),
            "variant": side[-1],
        }
        for number, side in enumerate(sides)
    ]


def test_a_farm_of_the_release_before_keeps_every_row(empty, tmp_path):
    before = all_rows(earlier_farm(EARLIER_FARM, tmp_path / "earlier.sqlite"))
    assert before.keys() >= _RENAMED_TABLES.keys()
    assert all(before.values())
    upgrade_to(empty, "0013")
    fill(empty, before)
    upgrade_to(empty, "head")
    after = all_rows(empty)
    assert after.pop("bench_ab_test_variant") == _variants(before["bench_trial"])
    assert {ab_test.pop("resumed_at") for ab_test in after["bench_ab_test"]} == {None}
    for ab_test in after["bench_ab_test"]:
        asked = [ab_test.pop(name) for name in ("images", "priority", "limited", "extended_by")]
        assert asked == [1, "normal", False, None]
    for probe in after["bench_probe"]:
        new = [probe.pop(name) for name in ("serial", "round", "judgement_id", "budget_of")]
        assert new == [0, 0, None, None]
    assert [after.pop(name) for name in _NEW_TABLES] == [[]] * len(_NEW_TABLES)
    (branch,) = after.pop("bench_branch")
    assert (branch["name"], branch["trunk"], branch["fork_position"]) == ("main", None, 0)
    for image in after["bench_image"]:
        assert [image.pop(name) for name in ("read_files", "built_by")] == [None, None]
    for row in (*after["bench_image"], *after["bench_judgement"]):
        assert (row.pop("branch"), row.pop("repository")) == ("main", "")
    assert {commit.pop("no_op_of") for commit in after["bench_commit"]} == {None}
    for search in after["bench_search"]:
        names = ("kind", "breakage", "recovery", "higher_is_better", "stated")
        assert [search.pop(name) for name in names] == ["effect", *4 * [None]]
        assert (search.pop("priority"), search.pop("repository")) == ("normal", "")
    assert after == {
        _RENAMED_TABLES.get(table, table): [_renamed(table, row) for row in rows]
        for table, rows in before.items()
    }


def test_what_is_known_of_several_branches_is_said_to_be_of_each(empty, tmp_path):
    before = all_rows(earlier_farm(EARLIER_FARM, tmp_path / "earlier.sqlite"))
    first, *others = before["bench_commit"]
    others[0]["branch"] = "stable/14"
    upgrade_to(empty, "0013")
    fill(empty, before)
    upgrade_to(empty, "head")
    after = all_rows(empty)
    rows = sorted(after["bench_branch"], key=itemgetter("id"))
    names = list(dict.fromkeys(row["branch"] for row in before["bench_commit"]))
    assert [row["name"] for row in rows] == names == ["main", "stable/14"]
    branch = {row["sha"]: row["branch"] for row in before["bench_commit"]}
    images = {row["sha"]: row["branch"] for row in after["bench_image"]}
    assert images == {sha: branch.get(sha) for sha in images}
    judged = {row["new_sha"]: row["branch"] for row in after["bench_judgement"]}
    assert judged == {sha: branch.get(sha) for sha in judged}
    assert first["branch"] == "main"


KEYS = {
    "commit:0000:apu:forwarding": (0, 0, None),
    "search:1:7": (7, 0, None),
    "search:1:7~2": (7, 2, None),
    "control:apu:12": (12, 0, None),
    "confirm:1:3:4~1": (0, 1, 1),
    "confirm:1:again-5:4": (0, 0, 1),
    "trial:2:apu:pf-statefull:3": (3, 0, None),
    "import:apu:forwarding:0000:abcd": (0, 0, None),
}


def test_what_keys_of_requests_said_stands_in_columns(empty, tmp_path):
    before = all_rows(earlier_farm(EARLIER_FARM, tmp_path / "earlier.sqlite"))
    for probe, key in zip(before["bench_probe"], KEYS, strict=False):
        probe["key"] = key
    assert len(before["bench_probe"]) >= len(KEYS)
    upgrade_to(empty, "0013")
    fill(empty, before)
    upgrade_to(empty, "head")
    probes = sorted(all_rows(empty)["bench_probe"], key=itemgetter("id"))[: len(KEYS)]
    read = [(probe["serial"], probe["round"], probe["judgement_id"]) for probe in probes]
    assert read == list(KEYS.values())


def test_the_file_of_the_release_before_is_upgraded_where_it_is(tmp_path):
    engine = earlier_farm(EARLIER_FARM, tmp_path / "earlier.sqlite")
    counts = {name: len(rows) for name, rows in all_rows(engine).items()}
    upgrade_to(engine, "head")
    assert {name: len(rows) for name, rows in all_rows(engine).items()} == {
        _RENAMED_TABLES.get(name, name): count for name, count in counts.items()
    } | dict.fromkeys(_NEW_TABLES, 0) | {
        "bench_ab_test_variant": 2 * counts["bench_trial"],
        "bench_branch": 1,
    }
    with engine.connect() as conn:
        assert conn.execute(sa.text("PRAGMA foreign_key_check")).all() == []
        context = MigrationContext.configure(
            conn, opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, METADATA) == []
