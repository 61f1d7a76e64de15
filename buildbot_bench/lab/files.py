"""Files that are whole or absent after a kill or a power cut, and checks of digests."""

import hashlib
import os
import shutil
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.durable import bring_to_disk


def replace_text(path: Path, text: str) -> None:
    """Put a text in place of a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    temporary.write_text(text, encoding="utf-8")
    bring_to_disk(temporary)
    temporary.replace(path)


def copy_verified(source: Path, target: Path, digest: str, *, mode: int = 0o600) -> None:
    """Copy a file whose SHA-256 must be `digest`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(target)
    try:
        shutil.copyfile(source, temporary)
        check_digest(temporary, digest)
        temporary.chmod(mode)
        bring_to_disk(temporary)
        temporary.replace(target)
    except OSError as error:
        raise InfraError(f"cannot copy the artefact: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_digest(path: Path, digest: str) -> None:
    """See that a file's SHA-256 is `digest`."""
    found = sha256(path)
    if found != digest:
        raise InfraError(
            f"the artefact has SHA-256 {found}, not {digest}",
            hint="it was damaged on its way, or another file lies there; transfer it again",
        )


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")
