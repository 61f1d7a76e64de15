"""`bench-farm restore`: make a farm's directory and database from a backup."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.demo.leftovers import running
from buildbot_bench.demo.manifest import DATABASE, WORKFLOW, BackupManifest
from buildbot_bench.demo.on_disk import artefact_files
from buildbot_bench.lab.locks import is_locked
from buildbot_bench.plugin.db.images import artefacts, forget_artefact, release_artefact
from buildbot_bench.plugin.db.sql import require_known
from buildbot_bench.plugin.operations.copies import (
    changing,
    empty,
    load_database,
    must_be_empty,
)
from buildbot_bench.plugin.private_files import SESSION_KEY, make_private
from buildbot_bench.workflow import load

_KEEPER = "keeper.lock"  # as demo/watching.py has it


def restore(backup: Path, directory: Path, url: sa.URL) -> str:
    """Make a farm of a backup in a directory that is empty or not there; how to go on, in words.

    It has its name when it is whole: what is made beside it until then goes when anything fails,
    together with what was written into the database.
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
    try:
        manifest.check(backup)
        dropped = _make(manifest, backup, directory, url)
    except (OSError, sa.exc.DBAPIError) as error:
        raise InfraError(
            f"{directory} cannot be made: {one_line(str(error))}",
            hint="remove the cause and try again: nothing was left there",
        ) from error
    return (
        f"{directory} has the farm of {backup} as of {_day(manifest.made_at_s)};"
        f" {dropped} kernels are built again when they are asked for\n"
        f"next: bench-farm verify --dir {directory}, then"
        f" bench-farm run --dir {directory} --workflow {directory / WORKFLOW}"
    )


def _make(manifest: BackupManifest, backup: Path, directory: Path, url: sa.URL) -> int:
    """Make the farm, or leave everything as it was; return how many kernels are not there."""
    workflow = load(backup / WORKFLOW)
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = Path(mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        for name in manifest.files:
            if name not in {DATABASE, f"secrets/{SESSION_KEY}"}:  # earlier backups have the key
                of_master = name.startswith(("secrets/", "artefacts/"))
                _copy(backup / name, (partial / "master" if of_master else partial) / name)
        # Last, since all else goes with its directory.
        place = _within(url, directory, partial)
        load_database(backup / DATABASE, place, manifest.tables)
        try:
            dropped = 0 if workflow.artefacts.place else _drop_missing(partial / "master", place)
            make_private(partial)
            partial.replace(directory)
        except BaseException:
            empty(place)
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return dropped


def _within(url: sa.URL, directory: Path, partial: Path) -> sa.URL:
    """Return where a database is made that is to lie in the farm's directory; others stay."""
    file = Path(os.path.normpath(url.database or ""))
    if url.get_backend_name() == "sqlite" and file.is_relative_to(directory):
        return url.set(database=str(partial / file.relative_to(directory)))
    return url


def _day(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, tz=UTC).isoformat(sep=" ", timespec="minutes")


def _must_be_free(directory: Path) -> None:
    """See that a directory is empty, and nothing runs there."""
    if not directory.exists():
        return
    if not directory.is_dir() or os.path.ismount(directory):
        what = "the root of a file system" if directory.is_dir() else "no directory"
        raise UsageError(f"{directory} is {what}", hint="restore into a new directory")
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
    with changing(url) as conn:
        missing = [one.digest for one in artefacts(conn) if there.get(one.digest) != one.size]
        for digest in missing:
            release_artefact(conn, digest)
            forget_artefact(conn, digest)
    return len(missing)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.touch(mode=0o600)
    shutil.copyfile(source, target)
