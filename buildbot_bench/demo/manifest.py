"""The manifest of a backup: release, files and their digests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from buildbot_bench.core.errors import UsageError

FORMAT = 1
NAME = "manifest.json"
DATABASE = "database"
# Whatever else a manifest names is not copied anywhere: it may be a stranger's.
_KNOWN = re.compile(
    r"database|bench\.yml|master\.cfg|testbeds\.toml"
    r"|secrets/[A-Za-z0-9_][\w.-]{0,99}|artefacts/[0-9a-f]{2}/[0-9a-f]{64}"
)
_DAMAGED = "take another backup: this one is damaged"
_LARGEST = 64 * 1024**2  # of a manifest: a name and a digest for each of 400,000 kernels


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
        """That of a backup.

        Raises:
            UsageError: It is no backup, is a newer release's, or is damaged.
        """
        path = directory / NAME
        try:
            if path.stat().st_size > _LARGEST:
                raise UsageError(f"{path} is too large", hint=_DAMAGED)
            said = json.loads(path.read_text(encoding="utf-8"))
            version = int(said["format"])
        except FileNotFoundError:
            raise UsageError(
                f"{directory} is no backup: it has no {NAME}",
                hint="name a directory that `bench-farm backup` made",
            ) from None
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            raise UsageError(f"{path} cannot be read", hint=_DAMAGED) from None
        if version > FORMAT:
            raise UsageError(
                f"{directory} was made by buildbot-bench {str(said.get('release'))[:20]}",
                hint="install that release, or a later one, and restore with it",
            )
        try:
            manifest = cls(**said)
            float(manifest.made_at_s)
            strange = [name for name in manifest.files if not _KNOWN.fullmatch(name)]
        except (TypeError, ValueError, AttributeError):
            raise UsageError(f"{path} lacks something", hint=_DAMAGED) from None
        if strange or DATABASE not in manifest.files:
            raise UsageError(
                f"{path} names {strange[0][:100]!r}" if strange else f"{path} names no database",
                hint=_DAMAGED,
            )
        return manifest

    def check(self, directory: Path) -> None:
        """See that each file is there as it was.

        Raises:
            UsageError: For the first that is not.
        """
        for name, digest in self.files.items():
            path = directory / name
            if path.is_symlink() or not path.is_file():
                raise UsageError(f"the backup lacks {path}", hint=_DAMAGED)
            if digest_of(path) != digest:
                raise UsageError(f"{path} is not what was backed up", hint=_DAMAGED)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
