"""A kernel archive, read on the lab controller and repacked for the DUT.

Only plain files under plain names are packed, so that unpacking on the DUT stays in its directory.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from buildbot_bench.archives.members import DAMAGED, opened
from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.lab.files import check_digest

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
        """Whether a text that a running kernel gives of itself stands in this one."""
        return text.strip().encode("utf-8", errors="replace") in self.kernel


NOTHING = KernelArchive(name="", kernel=b"", kernel_digest="")


def repack(artefact: Path, digest: str, target: Path) -> KernelArchive:
    """Read an artefact whose SHA-256 is `digest`, and pack its kernel for the DUT.

    Another digest is an InfraError.
    """
    check_digest(artefact, digest)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        directory = _directory_of_the_kernel(artefact)
        kernel = b""
        with opened(artefact) as (_, source), tarfile.open(target, "w:gz", compresslevel=1) as out:
            for member in source:
                name = _name_below(directory, member.info.name)
                content = None if name is None else member.content()
                if name is None or content is None:
                    continue
                if name == "kernel":
                    kernel = content
                out.addfile(_plain(name, content), io.BytesIO(content))
    except DAMAGED as error:
        raise UntestableRevision(
            f"the artefact is no kernel archive: {error}", hint="upload a tar file of /boot/kernel"
        ) from error
    return KernelArchive(
        name=f"{_PREFIX}{digest[:12]}",
        kernel=kernel,
        kernel_digest=hashlib.sha256(kernel).hexdigest(),
    )


def _directory_of_the_kernel(artefact: Path) -> PurePosixPath:
    """Where the file `kernel` lies; the least deep one, if there are several."""
    with opened(artefact) as (_, source):
        infos = [member.info for member in source]
    paths = [PurePosixPath(info.name) for info in infos if info.isreg() and info.size]
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
