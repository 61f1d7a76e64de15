"""`bench-farm restore`: make a farm's directory and database from a backup."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.errors import UsageError
from buildbot_bench.demo.leftovers import running
from buildbot_bench.demo.manifest import DATABASE, BackupManifest
from buildbot_bench.demo.on_disk import artefact_files
from buildbot_bench.lab.locks import is_locked
from buildbot_bench.plugin.db.images import artefacts, forget_artefact, release_artefact
from buildbot_bench.plugin.db.sql import require_known, take_write_lock
from buildbot_bench.plugin.operations.copies import load_database, must_be_empty
from buildbot_bench.plugin.operations.database import engine_of
from buildbot_bench.plugin.private_files import SESSION_KEY, make_private
from buildbot_bench.workflow import load

_KEEPER = "keeper.lock"  # as demo/watching.py has it


def restore(backup: Path, directory: Path, url: sa.URL) -> str:
    """Make a farm of a backup in a directory that is empty or not there; how to go on, in words.

    Raises:
        UsageError: A farm runs there, something is there, or the backup is damaged, a newer
            release's, or another kind of database's.
    """
    manifest = BackupManifest.read(backup)
    _must_be_free(directory)
    if manifest.database != url.get_backend_name():
        raise UsageError(
            f"the backup is of {manifest.database}, --db is of {url.get_backend_name()}",
            hint="name a database of the same kind",
        )
    require_known(manifest.tables)
    must_be_empty(url)
    manifest.check(backup)
    workflow = load(backup / "bench.yml")
    # First, since a server may refuse it: then nothing is there, and all can be tried again.
    load_database(backup / DATABASE, url)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in manifest.files:
        if name not in {DATABASE, f"secrets/{SESSION_KEY}"}:  # earlier backups have the key
            of_master = name.startswith(("secrets/", "artefacts/"))
            _copy(backup / name, (directory / "master" if of_master else directory) / name)
    make_private(directory)
    dropped = 0 if workflow.artefacts.place else _drop_missing(directory / "master", url)
    return (
        f"{directory} has the farm of {backup} as of {_day(manifest.made_at_s)};"
        f" {dropped} kernels are built again when they are asked for\n"
        f"next: bench-farm verify --dir {directory}, then"
        f" bench-farm run --dir {directory} --workflow {directory / 'bench.yml'}"
    )


def _day(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, tz=UTC).isoformat(sep=" ", timespec="minutes")


def _must_be_free(directory: Path) -> None:
    """See that a directory is empty, and nothing runs there.

    Raises:
        UsageError: It is not.
    """
    if not directory.exists():
        return
    names = [child.name for child in running(directory)]
    if names or is_locked(directory / _KEEPER):
        raise UsageError(
            f"a farm runs in {directory}", hint="stop it, and restore into a new directory"
        )
    if any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty", hint="restore into a new directory")


def _drop_missing(master: Path, url: sa.URL) -> int:
    """Let images whose kernels are not there be built again; how many kernels that were."""
    there = artefact_files(master)
    engine = engine_of(url)
    try:
        with engine.begin() as conn:
            take_write_lock(conn)
            missing = [one.digest for one in artefacts(conn) if there.get(one.digest) != one.size]
            for digest in missing:
                release_artefact(conn, digest)
                forget_artefact(conn, digest)
    finally:
        engine.dispose()
    return len(missing)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.touch(mode=0o600)
    shutil.copyfile(source, target)
