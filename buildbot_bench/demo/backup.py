"""`bench-farm backup`: copy a running farm's database, settings and secrets."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.demo.manifest import DATABASE, FORMAT, BackupManifest, digest_of
from buildbot_bench.demo.on_disk import artefact_files
from buildbot_bench.demo.place import FarmPlace
from buildbot_bench.plugin.db.sql import version_of
from buildbot_bench.plugin.operations.copies import copy_database
from buildbot_bench.plugin.operations.database import snapshot
from buildbot_bench.plugin.private_files import SESSION_KEY, make_private
from buildbot_bench.shipped import shipped

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
        str(path.relative_to(partial)): digest_of(path)
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
    """What a farm is set up by, each with its name in the backup.

    Raises:
        UsageError: Its bench.yml is not there, or a secret lies elsewhere.
    """
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
    """The configuration that the master's buildbot.tac names."""
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
            if digest_of(partial / "artefacts" / name) != digest:
                raise InfraError(
                    f"the kernel {master / 'artefacts' / name} is damaged",
                    hint="delete it: it is built again when it is asked for",
                )


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, target)
