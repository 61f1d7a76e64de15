"""What a kernel archive holds, read on the lab controller; it reaches no machine.

A kernel's archive is a tar file, compressed or not, with a file `kernel` and its modules beside
it, in whatever directory. It is packed anew: plain files alone, under plain names, so that what
is unpacked on the DUT cannot leave its directory.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.lab.files import check_digest

_DAMAGED = (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error)
_PREFIX = "bench."


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelArchive:
    """A kernel as it is installed: `name` below /boot, its file's contents and SHA-256."""

    name: str
    kernel: bytes
    kernel_digest: str

    @property
    def bootfile(self) -> str:
        """What kern.bootfile says when it runs."""
        return f"/boot/{self.name}/kernel"

    def holds(self, text: str) -> bool:
        """Whether a text that a running kernel tells of itself stands in this one."""
        return text.strip().encode("utf-8", errors="replace") in self.kernel


NOTHING = KernelArchive(name="", kernel=b"", kernel_digest="")


def repack(artefact: Path, digest: str, target: Path) -> KernelArchive:
    """Read an artefact whose SHA-256 is `digest`, and pack its kernel for the DUT.

    Another digest is an InfraError.

    Raises:
        UntestableRevision: For what is no kernel archive.
    """
    check_digest(artefact, digest)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(artefact) as source, tarfile.open(target, "w:gz", compresslevel=1) as out:
            members = [member for member in source.getmembers() if member.isreg()]
            directory = _directory_of_the_kernel(members)
            kernel = b""
            for member in members:
                name = _name_below(directory, member.name)
                if name is None:
                    continue
                file = source.extractfile(member)
                content = b"" if file is None else file.read()
                if name == "kernel":
                    kernel = content
                out.addfile(_plain(name, content), io.BytesIO(content))
    except _DAMAGED as error:
        raise UntestableRevision(
            f"the artefact is no kernel archive: {error}", hint="upload a tar file of /boot/kernel"
        ) from error
    return KernelArchive(
        name=f"{_PREFIX}{digest[:12]}",
        kernel=kernel,
        kernel_digest=hashlib.sha256(kernel).hexdigest(),
    )


def _directory_of_the_kernel(members: list[tarfile.TarInfo]) -> PurePosixPath:
    """Where the file `kernel` lies; the least deep one, if there are several.

    Raises:
        UntestableRevision: When there is none.
    """
    paths = [PurePosixPath(member.name) for member in members if member.size]
    found = [path for path in paths if path.name == "kernel" and ".." not in path.parts]
    if not found:
        raise UntestableRevision(
            "there is no file 'kernel' in the artefact", hint="upload a tar file of /boot/kernel"
        )
    return min(found, key=lambda path: len(path.parts)).parent


def _name_below(directory: PurePosixPath, name: str) -> str | None:
    """A file's name in the kernel's directory; None for what lies elsewhere or leads out of it."""
    path = PurePosixPath(name)
    if ".." in path.parts or not path.is_relative_to(directory):
        return None
    return str(path.relative_to(directory))


def _plain(name: str, content: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o555
    return info
