"""`bench-farm backup` and `restore`: copy a running farm, and make a farm of a copy."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any, Self

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.json_model import MissingKeyError, Rule, UnreadableError, from_json
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.demo.on_disk import FarmPlace, artefact_files
from buildbot_bench.demo.watching import running
from buildbot_bench.installed import shipped
from buildbot_bench.lab.files import is_locked, sha256
from buildbot_bench.plugin.db.images import artefacts, forget_artefact, release_artefact
from buildbot_bench.plugin.db.sql import require_known, version_of
from buildbot_bench.plugin.operations.copies import (
    changing,
    copy_database,
    empty,
    load_database,
    must_be_empty,
    snapshot,
)
from buildbot_bench.plugin.private_files import SESSION_KEY, make_private
from buildbot_bench.workflow.load import load

FORMAT = 1
NAME = "manifest.json"
DATABASE = "database"
WORKFLOW = "bench.yml"
# Whatever else a manifest names is not copied anywhere: it may be a stranger's.
_KNOWN = re.compile(
    r"database|bench\.yml|master\.cfg|testbeds\.toml"
    r"|secrets/[A-Za-z0-9_][\w.-]{0,99}|artefacts/[0-9a-f]{2}/[0-9a-f]{64}"
)
_SHA = re.compile(r"[0-9a-f]{64}")
_SHOWN = 40  # columns of a value that is wrong
_LATEST_S = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_DAMAGED = "take another backup: this one is damaged"
_LARGEST = 64 * 1024**2  # of a manifest: a name and a digest for each of 400,000 kernels
_CONFIGFILE = re.compile(r"^configfile\s*=\s*r?['\"](.+)['\"]\s*$", re.MULTILINE)


def make_backup(place: FarmPlace, target: Path, *, artefacts: bool, testbeds: Path | None) -> str:
    """Write a backup into a directory that is empty or not there; what it holds, in words.

    It has its name when it is whole: one that was cut short is TARGET.partial.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not empty", hint="name a directory that is not there yet")
    with snapshot(place.db) as conn:
        tables = version_of(conn) or ""
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700, parents=True)
    try:
        copy_database(place.db, partial / DATABASE)
        for name, source in _settings(place, testbeds):
            _copy(source, partial / name)
        if artefacts:
            _copy_artefacts(place.master, partial)
    except OSError as error:
        raise InfraError(f"the backup cannot be written: {error}", hint="see the disk") from error
    files = {
        str(path.relative_to(partial)): sha256(path)
        for path in sorted(partial.rglob("*"))
        if path.is_file()
    }
    BackupManifest(
        format=FORMAT,
        release=metadata.version("buildbot-bench"),
        tables=tables,
        database=place.db.get_backend_name(),
        made_at_s=time.time(),
        files=files,
    ).write(partial)
    make_private(partial)
    partial.replace(target)
    kernels = sum(name.startswith("artefacts/") for name in files)
    left_out = "" if artefacts else " (kernels are built again when they are asked for)"
    return f"{target}: {len(files) - kernels} files and {kernels} kernels{left_out}"


def _settings(place: FarmPlace, testbeds: Path | None) -> Iterator[tuple[str, Path]]:
    if not place.workflow.is_file():
        raise UsageError(f"there is no {place.workflow}", hint="name it by --workflow FILE")
    yield "bench.yml", place.workflow
    if (config := _master_cfg(place.master)) is not None:
        yield "master.cfg", config
    if (table := _testbeds(place, testbeds)) is not None:
        yield "testbeds.toml", table
    secrets = place.master / "secrets"
    for secret in (secrets, *sorted(secrets.glob("*"))):
        if secret.is_symlink():
            raise UsageError(f"{secret} is a link", hint="put in its place what it leads to")
        if secret.is_file() and secret.name != SESSION_KEY:
            yield f"secrets/{secret.name}", secret


def _master_cfg(master: Path) -> Path | None:
    with suppress(OSError):
        if found := _CONFIGFILE.search((master / "buildbot.tac").read_text(encoding="utf-8")):
            path = master / found[1]
            return path if path.is_file() else None
    return None


def _testbeds(place: FarmPlace, named: Path | None) -> Path | None:
    """The lab's table, if it lies on this machine."""
    if named is not None and not named.is_file():
        raise UsageError(f"there is no {named}", hint="see --testbeds")
    variable = os.environ.get("BENCH_LAB_TESTBEDS")
    likely = (
        *((named,) if named else ()),
        *((Path(variable),) if variable else ()),
        place.directory / "testbeds.toml",
        place.directory / "lab" / "testbeds.toml",
        shipped("workers/lab/testbeds.toml"),
    )
    return next((path for path in likely if path.is_file()), None)


def _copy_artefacts(master: Path, partial: Path) -> None:
    for digest in artefact_files(master):
        name = f"{digest[:2]}/{digest}"
        with suppress(FileNotFoundError):  # it has expired since
            _copy(master / "artefacts" / name, partial / "artefacts" / name)
            if sha256(partial / "artefacts" / name) != digest:
                raise InfraError(
                    f"the kernel {master / 'artefacts' / name} is damaged",
                    hint="delete it: it is built again when it is asked for",
                )


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, target)


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


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupManifest:
    """`tables` is the last migration that the tables had seen, `database` SQLAlchemy's name of it.

    `files` maps names within the backup to SHA-256 digests in hexadecimal; `made_at_s` is in
    seconds since the epoch.
    """

    format: Annotated[int, Rule(minimum=FORMAT)]
    release: str
    tables: str
    database: str
    made_at_s: Annotated[float, Rule(minimum=0, maximum=_LATEST_S)]
    files: Mapping[str, Any]

    def write(self, directory: Path) -> None:
        """Keep it beside the files, which must be there."""
        text = json.dumps(asdict(self), indent=1, sort_keys=True)
        (directory / NAME).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, directory: Path) -> Self:
        """That of a backup."""
        path = directory / NAME
        try:
            if path.stat().st_size > _LARGEST:
                raise UsageError(f"{path} is too large", hint=_DAMAGED)
            said = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(
                f"{directory} is no backup: it has no {NAME}",
                hint="name a directory that `bench-farm backup` made",
            ) from None
        except (ValueError, OSError, RecursionError):
            raise UsageError(f"{path} cannot be read", hint=_DAMAGED) from None
        return cls.of(said, path)

    @classmethod
    def of(cls, said: Any, path: Path) -> Self:
        """Return the manifest that any JSON value is, which was read from `path`."""
        if not isinstance(said, dict) or type(said.get("format")) is not int:
            raise UsageError(f"{path} cannot be read", hint=_DAMAGED)
        if said["format"] > FORMAT:
            raise UsageError(
                f"{path.parent} was made by buildbot-bench"
                f" {one_line(str(said.get('release')), columns=20)}",
                hint="install that release, or a later one, and restore with it",
            )
        if odd := said.keys() - {field.name for field in fields(cls)}:
            raise UsageError(f"{path} has {quoted(min(odd))}", hint=_DAMAGED)
        try:
            manifest = from_json(cls, said)
        except MissingKeyError as error:
            raise UsageError(f"{path} lacks {quoted(error.key)}", hint=_DAMAGED) from error
        except UnreadableError as error:
            value = quoted(error.value, columns=_SHOWN)
            raise UsageError(f"{path} has {value} as its {error.key}", hint=_DAMAGED) from error
        for name, digest in manifest.files.items():
            if not (_KNOWN.fullmatch(name) and isinstance(digest, str) and _SHA.fullmatch(digest)):
                raise UsageError(
                    f"{path} names {quoted(name)} with {quoted(digest, columns=_SHOWN)}",
                    hint=_DAMAGED,
                )
        for name in (DATABASE, WORKFLOW):
            if name not in manifest.files:
                raise UsageError(f"{path} names no {name}", hint=_DAMAGED)
        return manifest

    def check(self, directory: Path) -> None:
        """See that each file is there as it was."""
        for name, digest in self.files.items():
            path = directory / name
            for parent in (*Path(name).parents[:-1], Path(name)):
                if (directory / parent).is_symlink():
                    raise UsageError(f"{directory / parent} is a link", hint=_DAMAGED)
            if not path.is_file():
                raise UsageError(f"the backup lacks {path}", hint=_DAMAGED)
            if sha256(path) != digest:
                raise UsageError(f"{path} is not what was backed up", hint=_DAMAGED)


def _make(manifest: BackupManifest, backup: Path, directory: Path, url: sa.URL) -> int:
    """Make the farm, or leave everything as it was; return how many kernels are not there."""
    workflow = load(backup / WORKFLOW)
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = Path(mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        for name in manifest.files:
            if name not in {DATABASE, f"secrets/{SESSION_KEY}"}:  # earlier backups have the key
                of_master = name.startswith(("secrets/", "artefacts/"))
                target = (partial / "master" if of_master else partial) / name
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                target.touch(mode=0o600)
                shutil.copyfile(backup / name, target)
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
