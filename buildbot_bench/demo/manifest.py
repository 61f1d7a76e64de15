"""The manifest of a backup: release, files and their digests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line, quoted

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

# What each field may be.
_RIGHT: dict[str, Callable[[Any], bool]] = {
    "format": lambda said: said == FORMAT,
    "release": lambda said: isinstance(said, str),
    "tables": lambda said: isinstance(said, str),
    "database": lambda said: isinstance(said, str),
    "made_at_s": lambda said: type(said) in {int, float} and 0 <= said <= _LATEST_S,
    "files": lambda said: isinstance(said, dict),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupManifest:
    """`tables` is the last migration that the tables had seen, `database` SQLAlchemy's name of it.

    `files` maps names within the backup to SHA-256 digests in hexadecimal; `made_at_s` is in
    seconds since the epoch.
    """

    format: int
    release: str
    tables: str
    database: str
    made_at_s: float
    files: Mapping[str, str]

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
        """Return the manifest that any JSON value is, which was read from `path`.

        Raises:
            UsageError: It is none, or that of a newer release.
        """
        if not isinstance(said, dict) or type(said.get("format")) is not int:
            raise UsageError(f"{path} cannot be read", hint=_DAMAGED)
        if said["format"] > FORMAT:
            raise UsageError(
                f"{path.parent} was made by buildbot-bench"
                f" {one_line(str(said.get('release')), columns=20)}",
                hint="install that release, or a later one, and restore with it",
            )
        wanted = {field.name for field in fields(cls)}
        if said.keys() != wanted:
            odd = min(said.keys() ^ wanted)
            word = "lacks" if odd in wanted else "has"
            raise UsageError(f"{path} {word} {quoted(odd)}", hint=_DAMAGED)
        for name, is_right in _RIGHT.items():
            if not is_right(said[name]):
                value = quoted(said[name], columns=_SHOWN)
                raise UsageError(f"{path} has {value} as its {name}", hint=_DAMAGED)
        manifest = cls(**said)
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
            if digest_of(path) != digest:
                raise UsageError(f"{path} is not what was backed up", hint=_DAMAGED)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
