"""`bench-farm backup` and `restore`: a farm that is written to comes back whole, or not at all."""

import hashlib
import json
import os
import resource
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.demo.backup import BackupManifest, make_backup, restore
from buildbot_bench.demo.command import main
from buildbot_bench.demo.verifying import verify
from buildbot_bench.demo.watching import Child
from buildbot_bench.plugin.db.sql import take_write_lock, upgrade
from buildbot_bench.plugin.operations.copies import copy_database, must_be_empty
from tests.databases import DATABASES, new_database, sqlite_engine
from tests.fakes.whole_farm import DIGEST, KERNEL, WholeFarm

SECRET = "a password for nobody else"
PROBE = """INSERT INTO bench_probe (id, key, token, image_id, testbed, workload, epoch, iterations,
 priority, reason, state, attempt, created_at, judged, version, ended_at)
 VALUES ({0}, 'k{0}', '', 1, 'apu', 'forwarding', '', 1, 0, 'commit', 'done', 0, 1, {1}, 0, 3)"""
ITERATION = """INSERT INTO bench_iteration (probe_id, image_id, testbed, workload, epoch, ordinal,
 unit, is_primary, value, at_s, duration_s, facts, log)
 VALUES ({0}, 1, 'apu', 'forwarding', '', 0, 'pps', {1}, 7, 1, 1, '{{}}', 'log')"""


ON_SQLITE = pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)


@pytest.fixture(params=DATABASES)
def new_url(request, tmp_path) -> Iterator[Callable[[], sa.URL]]:
    """Empty databases, whole ones: pg_dump takes no less."""
    with ExitStack() as ends:

        def make() -> sa.URL:
            if request.param == "postgresql":
                server = request.getfixturevalue("postgresql")
                return sa.make_url(ends.enter_context(new_database(server)))
            return sa.make_url(f"sqlite:///{tmp_path}/new/master/state.sqlite")

        yield make


@pytest.fixture
def engine(request, new_url, tmp_path) -> Iterator[sa.Engine]:
    """That of the farm which is backed up, in a database of its own."""
    url = new_url()
    if url.get_backend_name() == "sqlite":
        engine = sqlite_engine(tmp_path / "state.sqlite")
        with engine.connect() as conn:
            conn.exec_driver_sql("PRAGMA journal_mode = wal")  # as Buildbot's
    else:
        engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as conn:
        take_write_lock(conn)
        upgrade(conn)
    yield engine
    engine.dispose()


@pytest.fixture
def farm(whole_farm) -> WholeFarm:
    secrets = whole_farm.place.master / "secrets"
    secrets.mkdir()
    (secrets / "bench.login").write_text(SECRET)
    (secrets / "session.key").write_text(SECRET)
    return whole_farm


@pytest.fixture
def backup(farm, tmp_path) -> Path:
    target = tmp_path / "backup"
    make_backup(farm.place, target, artefacts=True, testbeds=None)
    return target


def values(url: sa.URL, query: str) -> list[tuple[object, ...]]:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as conn:
        found = [tuple(row) for row in conn.execute(sa.text(query))]
    engine.dispose()
    return found


def restored(farm: WholeFarm, directory: Path, url: sa.URL) -> WholeFarm:
    place = replace(
        farm.place,
        directory=directory,
        master=directory / "master",
        db=url,
        workflow=directory / "bench.yml",
        states=(),
    )
    return replace(farm, place=place)


def write(engine: sa.Engine, stop: threading.Event, written: list[int]) -> None:
    """A probe and its boot in one transaction, again and again."""
    yes = 1 if engine.dialect.name == "sqlite" else "true"
    while not stop.is_set():
        number = 100 + len(written)
        with engine.begin() as conn:
            take_write_lock(conn)
            conn.execute(sa.text(PROBE.format(number, yes)))
            conn.execute(sa.text(ITERATION.format(number, yes)))
        written.append(number)


def test_a_farm_that_is_written_to_is_restored_whole(farm, new_url, tmp_path):
    stop, written = threading.Event(), list[int]()
    writer = threading.Thread(target=write, args=(farm.engine, stop, written))
    writer.start()
    try:
        while not written and writer.is_alive():
            stop.wait(0.01)
        make_backup(farm.place, tmp_path / "backup", artefacts=True, testbeds=None)
        known = len(written)
        while len(written) == known and writer.is_alive():
            stop.wait(0.01)
    finally:
        stop.set()
        writer.join()
    url = new_url()
    restore(tmp_path / "backup", tmp_path / "new", url)
    new = restored(farm, tmp_path / "new", url)
    assert verify(new.place, idle=True, wait=lambda _: None).violations == ()
    probes = values(url, "SELECT count(*) FROM bench_probe")[0][0]
    assert 1 < probes <= len(written)  # one more probe there, and at least one after the backup
    assert new.kernel.read_bytes() == KERNEL
    assert (new.place.master / "secrets" / "bench.login").read_text() == SECRET
    learnt = {
        "sqlite": "SELECT count(*) FROM sqlite_stat1 WHERE tbl = 'bench_probe'",
        "postgresql": "SELECT count(*) FROM pg_stats WHERE tablename = 'bench_probe'",
    }
    assert values(url, learnt[url.get_backend_name()])[0][0] > 0


@ON_SQLITE
def test_only_its_owner_reads_a_backup_and_what_is_restored(backup, new_url, tmp_path):
    restore(backup, tmp_path / "new", new_url())
    paths = [backup, *backup.rglob("*"), tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert (backup / "secrets" / "bench.login") in paths
    assert [path for path in paths if path.name == "session.key"] == []
    assert [path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_without_kernels_they_are_built_again(farm, new_url, tmp_path):
    make_backup(farm.place, tmp_path / "backup", artefacts=False, testbeds=None)
    url = new_url()
    said = restore(tmp_path / "backup", tmp_path / "new", url)
    assert "1 kernels are built again" in said
    assert values(url, "SELECT state FROM bench_image") == [("dropped",)]
    assert restored(farm, tmp_path / "new", url).found(idle=True) == []


def damaged_file(backup: Path) -> None:
    path = backup / "artefacts" / DIGEST[:2] / DIGEST
    path.write_bytes(b"another")


def missing_file(backup: Path) -> None:
    (backup / "bench.yml").unlink()


def half_a_manifest(backup: Path) -> None:
    path = backup / "manifest.json"
    path.write_text(path.read_text()[:100])


def said_otherwise(**fields: object) -> Callable[[Path], None]:
    def change(backup: Path) -> None:
        path = backup / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))

    return change


def without_manifest(backup: Path) -> None:
    (backup / "manifest.json").unlink()


def linked_secrets(backup: Path) -> None:
    elsewhere = backup.with_name("elsewhere")
    (backup / "secrets").rename(elsewhere)
    (backup / "secrets").symlink_to(elsewhere)


SPOILT = [
    (damaged_file, "is not what was backed up"),
    (missing_file, "the backup lacks"),
    (half_a_manifest, "cannot be read"),
    (said_otherwise(format=2, release="9.0"), "was made by buildbot-bench 9.0"),
    (said_otherwise(tables="v9999", release="9.0"), "a newer buildbot-bench"),
    (said_otherwise(database="mysql"), "the backup is of mysql"),
    (said_otherwise(files={"../../etc/passwd": ""}), "names '../../etc/passwd'"),
    (said_otherwise(files={}), "names no database"),
    (said_otherwise(more=1), "has 'more'"),
    (said_otherwise(made_at_s=1e300), "has 1e.300 as its made_at_s"),
    (said_otherwise(release=["0.1"]), r"has \['0.1'\] as its release"),
    (said_otherwise(format=True), "cannot be read"),
    (without_manifest, "is no backup"),
    (linked_secrets, "secrets is a link"),
]


@ON_SQLITE
def test_what_cannot_be_restored_is_refused_and_leaves_nothing(backup, new_url, tmp_path):
    for number, (spoil, words) in enumerate(SPOILT):
        spoilt = shutil.copytree(backup, tmp_path / f"spoilt-{number}")
        spoil(spoilt)
        with pytest.raises(UsageError, match=words) as refused:
            restore(spoilt, tmp_path / "new", new_url())
        assert refused.value.hint
        assert not (tmp_path / "new").exists()


def test_nothing_is_restored_over_what_is_there(farm, backup, new_url, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    (new / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        restore(backup, new, new_url())
    with pytest.raises(UsageError, match="already"):
        restore(backup, tmp_path / "other", farm.engine.url)
    with pytest.raises(UsageError, match="is not empty"):
        make_backup(farm.place, new, artefacts=False, testbeds=None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MANIFEST: dict[str, object] = {
    "format": 1,
    "release": "0.1",
    "tables": "v1",
    "database": "sqlite",
    "made_at_s": 1.0,
    "files": {"database": "ab" * 32, "bench.yml": "cd" * 32},
}


@given(said=JSON | st.dictionaries(st.sampled_from(sorted(MANIFEST)), JSON).map(MANIFEST.__or__))
@example(said=MANIFEST | {"made_at_s": 10**400})
@example(said=MANIFEST | {"files": {"database": ["ab"]}})
def test_any_json_is_a_manifest_or_a_mistake(said):
    try:
        manifest = BackupManifest.of(json.loads(json.dumps(said)), Path("backup/manifest.json"))
    except UsageError as refused:
        words = str(refused)
    else:
        assert asdict(manifest) == said
        words = datetime.fromtimestamp(manifest.made_at_s, tz=UTC).isoformat()
    assert len(words) < 300
    assert words.isprintable()


@contextmanager
def a_disk_that_takes(most: int) -> Iterator[None]:
    """No file grows beyond so many bytes: what a full disk does to who writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def everything(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


@ON_SQLITE
def test_a_full_disk_leaves_nothing_and_the_next_try_works(backup, new_url, tmp_path):
    size = (backup / "database").stat().st_size
    for most in (4, 1000, size - 1, size // 2):
        before = everything(tmp_path)
        with a_disk_that_takes(most), pytest.raises(InfraError, match="cannot be made") as refused:
            restore(backup, tmp_path / "new", new_url())
        assert "try again" in refused.value.hint
        assert everything(tmp_path) == before
    restore(backup, tmp_path / "new", new_url())


def database_of_another_program(url: sa.URL, backup: Path) -> None:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as conn:
        conn.exec_driver_sql("CREATE TABLE stray (id integer)")
    engine.dispose()
    (backup / "database").unlink()
    copy_database(url, backup / "database")


def test_a_database_that_is_not_the_backups_is_refused_and_leaves_nothing(
    backup, new_url, tmp_path
):
    other, url = new_url(), new_url()
    if other.get_backend_name() == "sqlite":
        other = sa.make_url(f"sqlite:///{tmp_path}/other.sqlite")
    whole = (backup / "database").read_bytes()
    database_of_another_program(other, backup)
    for content in ((backup / "database").read_bytes(), whole[: len(whole) // 2], b"", b"text"):
        (backup / "database").write_bytes(content)
        manifest = json.loads((backup / "manifest.json").read_text())
        digests = manifest["files"] | {"database": hashlib.sha256(content).hexdigest()}
        said_otherwise(files=digests)(backup)
        before = everything(tmp_path)
        with pytest.raises(BenchError) as refused:
            restore(backup, tmp_path / "new", url)
        assert refused.value.hint
        assert everything(tmp_path) == before
        must_be_empty(url)


@ON_SQLITE
def test_no_farm_is_made_where_a_file_is(backup, new_url, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="file is no directory"):
        restore(backup, tmp_path / "file", new_url())
    with pytest.raises(InfraError, match="cannot be made"):
        restore(backup, tmp_path / "file" / "new", new_url())


@ON_SQLITE
def test_nothing_is_restored_where_a_farm_runs(backup, new_url, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    child = Child(name="master", command=["sleep", "60"], cwd=new, env={}, log=new / "master.log")
    child.start()
    try:
        with pytest.raises(UsageError, match="a farm runs in"):
            restore(backup, new, new_url())
    finally:
        child.kill()


@ON_SQLITE
def test_a_database_that_is_damaged_is_not_backed_up_as_if_it_were_whole(farm, tmp_path):
    farm.engine.dispose()
    path = Path(farm.engine.url.database)
    with sqlite3.connect(path) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = conn.execute("PRAGMA page_size").fetchone()
    conn.close()
    content = bytearray(path.read_bytes())
    content[-20 * size :] = b"\xff" * (20 * size)
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(content)
    place = replace(farm.place, db=sa.make_url(f"sqlite:///{damaged}"))
    with pytest.raises(InfraError, match=r"damaged|malformed"):
        make_backup(place, tmp_path / "backup", artefacts=False, testbeds=None)
    assert not (tmp_path / "backup").exists()


@ON_POSTGRESQL
def test_a_password_is_in_no_argument(farm, tmp_path, monkeypatch):
    real = shutil.which("pg_dump")
    beside = tmp_path / "bin" / "pg_dump"
    beside.parent.mkdir()
    beside.write_text(f'#!/bin/sh\necho "$PGPASSWORD $*" >{tmp_path}/called\nexec {real} "$@"\n')
    beside.chmod(0o700)
    monkeypatch.setenv("PATH", f"{beside.parent}:{os.environ['PATH']}")
    place = replace(farm.place, db=farm.place.db.set(password="pass'word"))
    make_backup(place, tmp_path / "backup", artefacts=False, testbeds=None)
    password, *arguments = (tmp_path / "called").read_text().split(" ")
    assert password == "pass'word"
    assert "pass'word" not in " ".join(arguments).replace("\\", "")
    everything = b"".join(p.read_bytes() for p in (tmp_path / "backup").rglob("*") if p.is_file())
    assert b"pass'word" not in everything


@ON_SQLITE
def test_the_commands_say_how_to_go_on(farm, new_url, tmp_path, capsys):
    url = new_url().render_as_string(hide_password=False)
    old = farm.engine.url.render_as_string(hide_password=False)
    where = [f"--dir={farm.place.directory}", f"--db={old}"]
    assert main(["backup", str(tmp_path / "backup"), *where]) == 0
    assert "kernels are built again" in capsys.readouterr().out
    new = tmp_path / "new"
    assert main(["restore", str(tmp_path / "backup"), f"--dir={new}", f"--db={url}"]) == 0
    assert f"next: bench-farm verify --dir {new}" in capsys.readouterr().out
    assert main(["restore", str(tmp_path / "backup"), f"--dir={new}", f"--db={url}"]) == 2
    assert "restore into a new directory" in capsys.readouterr().err
