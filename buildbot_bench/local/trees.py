"""Archives of built trees: packed after a build, unpacked for each run, and compared."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.durable import bring_to_disk

_CHUNK = 1 << 20  # bytes
# Git's own, and what Python writes beside a source with the time of the checkout in it.
_NOT_OF_IT = frozenset({".git", "__pycache__"})
_REMOVALS = 5  # tries, for what a process that was just ended may still have written


def pack(tree: Path, wanted: Sequence[str], archive: Path) -> tuple[str, int]:
    """Write the wanted parts of a tree, all if none are named, to an archive.

    Returns the digest of what is in it, which does not depend on times, and its size in bytes.

    Raises UntestableRevision: something that is wanted is not there.
    """
    beside = archive.with_name(f"{archive.name}.part")
    digest = hashlib.sha256()
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(beside, "w", format=tarfile.PAX_FORMAT) as out:
            for path in _files(tree, wanted):
                name = path.relative_to(tree).as_posix()
                _hash(digest, path, name)
                out.add(path, arcname=name, recursive=False)
        size = beside.stat().st_size
        bring_to_disk(beside)
        beside.replace(archive)
    except OSError as error:
        raise InfraError(
            f"what was built cannot be kept: {error}", hint="make room, or name less by --artefact"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
    return digest.hexdigest(), size


def unpack(archive: Path, tree: Path) -> None:
    """Unpack an archive that `pack` wrote into a fresh directory, with the times its files had.

    It is the system's tar that does it: links that lead out of the tree are part of what was built
    here, and Python's tarfile takes them on some releases and refuses them on others.
    """
    remove_tree(tree)
    try:
        tree.mkdir(parents=True)
        done = subprocess.run(  # noqa: S603 - a list of our own making
            ["tar", "-xpf", str(archive), "-C", str(tree)],  # noqa: S607 - the PATH's
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        told = f"tar: {one_line(done.stderr)}" if done.returncode else ""
    except OSError as error:
        told = str(error)
    if told:
        raise InfraError(
            f"{archive} cannot be unpacked: {told}", hint="make room, or remove the file"
        )


def remove_tree(tree: Path) -> None:
    """Remove a directory and all in it, also what was made read-only."""
    for _ in range(_REMOVALS):
        shutil.rmtree(tree, ignore_errors=True)
        if not tree.exists():
            return
        _make_writable(tree)
        time.sleep(0.05)
    raise InfraError(f"{tree} cannot be removed", hint="remove it by hand")


def _files(tree: Path, wanted: Sequence[str]) -> Iterator[Path]:
    """All below the wanted parts, in an order that depends on their names alone."""
    if not wanted:
        yield from _below(tree)
        return
    seen = set[Path]()
    for pattern in wanted:
        found = sorted(path.relative_to(tree).as_posix() for path in _matching(tree, pattern))
        if not found:
            raise UntestableRevision(f"the build made no {pattern}", hint="see --artefact")
        for name in found:
            path = tree / name
            inside = path.is_dir() and not path.is_symlink()
            for one in (path, *_below(path)) if inside else (path,):
                if one not in seen:
                    seen.add(one)
                    yield one


def _matching(tree: Path, pattern: str) -> list[Path]:
    """What a pattern names."""
    try:
        return [path for path in tree.glob(pattern) if path != tree]
    except (ValueError, NotImplementedError) as error:
        raise UsageError(
            f"--artefact {pattern}: {error}", hint="name it relative to the top of the repository"
        ) from error


def _below(directory: Path) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        path = Path(entry.path)
        if entry.name in _NOT_OF_IT:
            continue
        if entry.is_symlink() or entry.is_file(follow_symlinks=False):
            yield path
        elif entry.is_dir(follow_symlinks=False):
            yield path
            yield from _below(path)


def _hash(digest: "hashlib._Hash", path: Path, name: str) -> None:  # noqa: UP037
    status = path.lstat()
    kind = "l" if stat.S_ISLNK(status.st_mode) else "d" if stat.S_ISDIR(status.st_mode) else "f"
    runs = "x" if kind == "f" and status.st_mode & stat.S_IXUSR else "-"
    size = status.st_size if kind == "f" else 0
    digest.update(f"{kind}{runs} {size} ".encode() + os.fsencode(name) + b"\0")
    if kind == "l":
        digest.update(os.fsencode(path.readlink()) + b"\0")
    elif kind == "f":
        with path.open("rb") as content:
            while piece := content.read(_CHUNK):
                digest.update(piece)


def _make_writable(tree: Path) -> None:
    for directory, _, _ in os.walk(tree):
        with suppress(OSError):
            Path(directory).chmod(0o700)
