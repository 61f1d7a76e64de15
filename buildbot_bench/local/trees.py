"""Trees of revisions: filled with their submodules, packed after a build, unpacked for each run."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.lab.files import bring_to_disk
from buildbot_bench.programs import Git, GitRefusedError

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


_LINK = re.compile(r"160000 commit ([0-9a-f]+)\t(.+)", re.DOTALL)  # of git ls-tree
_PATH = re.compile(r"submodule\.(.+)\.path\n(.+)", re.DOTALL)  # of git config -z
_URL = re.compile(r"submodule\.(.+)\.url\n")
_LONGEST = 1000  # characters of a path, however deep submodules lie in submodules


@dataclass(frozen=True, kw_only=True, slots=True)
class _Submodule:
    """A submodule of one tree: its name in .gitmodules, where it lies, its commit."""

    name: str
    path: str
    sha: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Submodules:
    """The submodules of the user's repository, in its git directory and its checkout."""

    git: Git

    def fill(self, tree: Path) -> list[str]:
        """Fill those of a worktree; returns a sentence for each that stays empty.

        Raises InfraError: git cannot be started.
        """
        return list(self._fill(tree, "", [self.git.home], self._checkouts()))

    def _checkouts(self) -> list[Path]:
        try:
            return [Path(self.git.text("rev-parse", "--show-toplevel"))]
        except GitRefusedError:  # a bare repository
            return []

    def _fill(
        self, tree: Path, above: str, homes: Sequence[Path], checkouts: Sequence[Path]
    ) -> Iterator[str]:
        """Fill the submodules of one tree, and theirs; `homes` and `checkouts` may have them.

        `above` is where the tree lies in the topmost one.
        """
        for one in self._submodules(tree):
            path = f"{above}{one.path}"
            place = tree / one.path
            inner = [home / "modules" / one.name for home in homes]
            outer = [checkout / one.path for checkout in checkouts]
            there = [source for source in (*inner, *outer) if _is_repository(source)]
            renamed = [source for source in self._registered() if self._has(source, one.sha)]
            if not place.resolve().is_relative_to(tree.resolve()) or len(path) > _LONGEST:
                yield f"the submodule {one_line(path)} stays empty: it leads out of the tree"
            elif any(self._clone(source, place, one.sha) for source in (*there, *renamed)):
                yield from self._fill(place, f"{path}/", (*inner, *renamed), outer)
            else:
                quoted = shlex.quote(one_line(path))
                remedy = f"-C {quoted} fetch" if there else "submodule update --init --recursive"
                lacks = f"your checkout lacks {one.sha[:12]} of it" if there else "you have it not"
                yield f"the submodule {one_line(path)} stays empty, as {lacks}: `git {remedy}`"

    def _registered(self) -> list[Path]:
        """Those that the user has: an older revision may have one by another name and path."""
        try:
            told = self.git.text("config", "-z", "--get-regexp", r"^submodule\..+\.url$")
        except GitRefusedError:  # there is none
            return []
        names = [match[1] for one in told.split("\0") if (match := _URL.match(one))]
        return [self.git.home / "modules" / name for name in names]

    def _has(self, source: Path, sha: str) -> bool:
        try:
            self.git.bytes(
                f"--git-dir={source}", "--work-tree=.", "cat-file", "-e", f"{sha}^{{commit}}"
            )
        except GitRefusedError:  # another repository, or none
            return False
        return True

    def _submodules(self, tree: Path) -> list[_Submodule]:
        if not (tree / ".gitmodules").is_file():
            return []
        asked = ("config", "-z", "--blob", "HEAD:.gitmodules", "--get-regexp", r"\.path$")
        try:
            told = self.git.text(*asked, place=tree).split("\0")
            listed = self.git.text("ls-tree", "-r", "-z", "HEAD", place=tree).split("\0")
        except GitRefusedError:
            return []
        names = {match[2]: match[1] for one in told if (match := _PATH.fullmatch(one))}
        links = [match for one in listed if (match := _LINK.fullmatch(one))]
        return [
            _Submodule(name=names[match[2]], path=match[2], sha=match[1])
            for match in links
            if match[2] in names and {"..", "/"}.isdisjoint(Path(names[match[2]]).parts)
        ]

    def _clone(self, source: Path, place: Path, sha: str) -> bool:
        """Check a commit out of a repository that has it; False where it does not."""
        clone = ("clone", "--quiet", "--shared", "--no-checkout", "--", str(source), str(place))
        try:
            self.git.bytes("-c", "protocol.file.allow=always", *clone)
            self.git.bytes("checkout", "--quiet", "--force", "--detach", sha, place=place)
        except GitRefusedError:
            remove_tree(place)
            place.mkdir(parents=True)
            return False
        return True


def _is_repository(place: Path) -> bool:
    return (place / "HEAD").is_file() or (place / ".git").exists()
