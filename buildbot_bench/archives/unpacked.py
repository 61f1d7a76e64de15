"""The unpacking of an artefact into a new directory, within budgets and that directory."""

import errno
import os
import posixpath
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from buildbot_bench.archives.members import DAMAGED, Member, opened
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.limits import KERNEL_ARCHIVE, ArchiveBudget, spoken

ALONE = "artefact"
# ELF, a script, Mach-O of 64 bits and of several processors.
_PROGRAMS = (b"\x7fELF", b"#!", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_OF_ARCHIVES = (b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00\x80")
_OWNER_RUNS = 0o100
_OF_THE_LAB = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO}


def unpack(artefact: Path, directory: Path, budget: ArchiveBudget = KERNEL_ARCHIVE) -> None:
    """Unpack an artefact into a directory that is not there yet, or is empty.

    Files, directories, symbolic links within the archive and hard links are unpacked; who may read
    a file may write it, and what its owner may run everybody may.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with artefact.open("rb") as file:
        start = file.read(8)
    if start.startswith(_PROGRAMS):
        if artefact.stat().st_size > budget.total_bytes:
            raise UntestableRevision(f"the artefact has more than {spoken(budget.total_bytes)}")
        shutil.copyfile(artefact, directory / ALONE)
        (directory / ALONE).chmod(0o755)
        return
    unpacking = _Unpacking(directory=directory)
    try:
        with opened(artefact, budget) as (_, archive):
            for member in archive:
                unpacking.take(member)
    except DAMAGED as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_LAB:
            raise InfraError(f"cannot unpack the artefact: {error}", hint="make room") from error
        packed = start.startswith(_OF_ARCHIVES) or unpacking.count
        what = "is damaged" if packed else "is neither a tar archive nor a program"
        raise UntestableRevision(
            f"the artefact {what}: {one_line(str(error))}",
            hint="upload what `tar -cf` writes, or the program itself",
        ) from error
    if not unpacking.count:
        raise UntestableRevision("the artefact is an empty archive")
    unpacking.link()


@dataclass
class _Unpacking:
    """Members on their way; symbolic links come last, so that none is written through."""

    directory: Path
    links: dict[PurePosixPath, str] = field(default_factory=dict)
    count: int = 0

    def take(self, member: Member) -> None:
        """Unpack a member."""
        self.count += 1
        info = member.info
        name = _inside(info.name)
        if info.issym():
            self.links[name] = info.linkname
            return
        if name == PurePosixPath():
            return
        if any(parent in self.links for parent in (name, *name.parents)):
            raise UntestableRevision(f"{_shown(info.name)} in the artefact lies behind a link")
        path = self.directory / name
        if info.isdir():
            path.mkdir(parents=True, exist_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if info.islnk():
            path.unlink(missing_ok=True)
            os.link(self.directory / _inside(info.linkname), path, follow_symlinks=False)
            return
        content = member.content()
        if content is None:
            raise UntestableRevision(f"{_shown(info.name)} in the artefact is no file")
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if info.mode & _OWNER_RUNS else 0o644)

    def link(self) -> None:
        """Make the symbolic links."""
        for name, target in self.links.items():
            end = posixpath.normpath(name.parent / target)
            path = self.directory / name
            if posixpath.isabs(target) or end.startswith("..") or path.exists():
                raise UntestableRevision(
                    f"{_shown(str(name))} in the artefact is a link that leads elsewhere",
                    hint="pack it by tar --dereference",
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
        whole = self.directory.resolve()
        for name in self.links:  # one link may lead out by way of another
            if not (self.directory / name).resolve().is_relative_to(whole):
                raise UntestableRevision(f"{_shown(str(name))} in the artefact leads out of it")


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise UntestableRevision(f"{_shown(name)} in the artefact leads out of its directory")
    return path


def _shown(name: str) -> str:
    return repr(one_line(name))
