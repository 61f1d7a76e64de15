"""The unpacking of hostile tar archives into a new directory.

tarfile has filters since Python 3.11.4 only, and those of several later versions can be led out of
the directory by chains of links. So all members are looked at before the first is written.
"""

import lzma
import os
import tarfile
import zlib
from collections import Counter
from collections.abc import Collection
from itertools import dropwhile
from pathlib import Path, PurePosixPath

from buildbot_bench.core.errors import UsageError

MOST_BYTES = 8 << 30
"""What is unpacked by default at most: a FreeBSD release's base system has a quarter of it."""
_DAMAGED = (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error)
_HINT = "unpack it by hand if you trust it"


def unpack(archive: Path, directory: Path, *, most_bytes: int = MOST_BYTES) -> None:
    """Unpack a whole archive into a directory, which is made, or is empty.

    All is owned by who unpacks it, and nobody else may read it; no file keeps a setuid bit.
    Raises UsageError, before anything is written, for an archive that is damaged or larger than
    `most_bytes`, or that has absolute names, names with `..`, devices, links that lead out, names
    behind a link, or one name twice. Raises OSError as the disk does.
    """
    if directory.exists() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty", hint="name a directory that is not there yet")
    try:
        with tarfile.open(archive) as tar:
            members = _sound_members(tar, archive, most_bytes)
            directory.mkdir(parents=True, exist_ok=True)
            if hasattr(tarfile, "data_filter"):
                tar.extractall(directory, members, filter="data")
            else:
                tar.extractall(directory, members)
    except _DAMAGED as error:
        raise UsageError(f"{archive}: no tar archive, or a damaged one: {error}") from error


def _sound_members(tar: tarfile.TarFile, archive: Path, most_bytes: int) -> list[tarfile.TarInfo]:
    members: list[tarfile.TarInfo] = []
    size = 0
    for member in tar:
        size += member.size
        if size > most_bytes:
            raise UsageError(f"{archive}: more than {most_bytes} bytes", hint=_HINT)
        members.append(member)
    leaves = Counter(_path(member) for member in members if not member.isdir())
    files: set[PurePosixPath] = set()
    for member in members:
        if fault := _fault_of_name(member, leaves) or _fault_of_kind(member, files):
            raise UsageError(f"{archive}: {member.name!r} {fault}", hint=_HINT)
        if member.isreg():
            files.add(_path(member))
    return [_ours(member) for member in members]


def _fault_of_name(member: tarfile.TarInfo, leaves: Counter[PurePosixPath]) -> str:
    """What is wrong with where a member lies; `leaves` counts all that are no directories."""
    path = _path(member)
    if path.is_absolute() or ".." in path.parts:
        return "leads out of the directory"
    if any(parent in leaves for parent in path.parents):
        return "lies behind a name that is no directory"
    if leaves[path] > (not member.isdir()):
        return "is there twice"
    return "" if member.isdir() or path.parts else "has no name"


def _fault_of_kind(member: tarfile.TarInfo, files: Collection[PurePosixPath]) -> str:
    """What is wrong with what a member is; `files` are those before it."""
    if member.issym():
        return "" if _stays_within(member) else "links out of the directory"
    if member.islnk():
        return "" if PurePosixPath(member.linkname) in files else "links to no file before it"
    return "" if member.isreg() or member.isdir() else "is neither file, directory nor link"


def _stays_within(link: tarfile.TarInfo) -> bool:
    """Whether a symbolic link ends within.

    No member lies behind a link, so the link's own directory is a real one. From there the target
    may go up by its first parts, never above the top, and then only down: other links that it
    goes through do the same.
    """
    target = PurePosixPath(link.linkname)
    down = list(dropwhile(lambda part: part == "..", target.parts))
    up = len(target.parts) - len(down)
    depth = len(_path(link).parts) - 1
    return not target.is_absolute() and ".." not in down and up <= depth


def _ours(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member that gives nobody but us a right, and nobody ours."""
    mode = 0o700 if member.isdir() else 0o600
    member.mode = member.mode & 0o700 | mode
    member.uid, member.gid = os.geteuid(), os.getegid()
    member.uname = member.gname = ""
    return member


def _path(member: tarfile.TarInfo) -> PurePosixPath:
    return PurePosixPath(member.name)
