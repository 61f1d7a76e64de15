"""The installation of a kernel, or of a whole image of nanobsd, on a machine."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from buildbot_bench.archives.members import DAMAGED, opened
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.files import check_digest, sha256
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import DutSettings, Limits

_NO_SPACE = ("No space left", "filesystem full", "file system full")


@contextmanager
def writable(remote: Remote, *, nanobsd: bool) -> Iterator[None]:
    """Have the root writable for the length of a block."""
    if not nanobsd:
        yield
        return
    remote.need("mount", "-uw", "/")
    try:
        yield
    finally:
        remote.need("mount", "-ur", "/")


def install_kernel(
    remote: Remote, dut: DutSettings, limits: Limits, packed: Path, archive: KernelArchive
) -> None:
    """Unpack a kernel into /boot/<its name>, checked by digest there; earlier ones make room.

    A kernel that is there already is left as it is.
    """
    directory = dut.path(f"boot/{archive.name}")
    if _remote_digest(remote, f"{directory}/kernel") == archive.kernel_digest:
        return
    with writable(remote, nanobsd=dut.is_nanobsd):
        # The kernels of earlier jobs; never the known-good one, whose name is another
        boot = dut.path("boot")
        remote.need(
            "find", boot, "-maxdepth", "1", "-name", "bench.*", "-exec", "rm", "-rf", "{}", "+"
        )
        try:
            # By way of a directory of another name: the kernel is there wholly or not at all
            fresh, staged = f"{directory}.new", f"{directory}.tgz"
            remote.need("rm", "-rf", fresh, directory)
            remote.need("mkdir", "-p", fresh)
            _upload_checked(remote, packed, staged)
            remote.need("tar", "-xzf", staged, "-C", fresh, deadline_s=limits.transfer_s)
            remote.need("rm", "-f", staged)
            remote.need("mv", fresh, directory)
        except InfraError as error:
            remote.run("rm", "-rf", f"{directory}.new", f"{directory}.tgz")
            if any(words in error.message for words in _NO_SPACE):
                raise InfraError(error.message, hint=f"make room in {dut.path('boot')}") from error
            raise
        found = _remote_digest(remote, f"{directory}/kernel")
        if found != archive.kernel_digest:
            raise InfraError(
                f"{remote.address}: the installed kernel has SHA-256 {found or 'none'},"
                f" not {archive.kernel_digest}",
                hint="the DUT's disk may be failing",
            )


def _upload_checked(remote: Remote, source: Path, target: str) -> None:
    remote.upload(source, target)
    found, wanted = _remote_digest(remote, target), sha256(source)
    if found != wanted:
        raise InfraError(f"{remote.address}: {target} was damaged on its way: {found}")


def _remote_digest(remote: Remote, path: str) -> str:
    answer = remote.run("sha256", "-q", path)
    return answer.stdout.strip() if answer.status == 0 else ""


# Only plain files under plain names are packed, so that unpacking on the DUT stays in its
# directory.
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
    """Read an artefact whose SHA-256 is `digest`, and pack its kernel for the DUT."""
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


_CHUNK = 1 << 20  # bytes
# One line, which csh(1) takes for a word. What arrives is digested on its way to the slice: there
# is no room for a copy. Neither xzcat's failure nor tee's may pass for the end of the image.
_UPGRADE = (
    'd=$(mktemp -d) && mkfifo "$d/copy" || exit 1; trap \'rm -rf "$d"\' EXIT; '
    'sha256 -q <"$d/copy" >"$d/digest" & '
    '{ tee "$d/copy" || touch "$d/cut"; } | { xzcat || touch "$d/cut"; } | '
    '"$0" "$@" >"$d/said" 2>&1 || { tail -n 3 "$d/said" >&2; exit 1; }; '
    'wait; [ ! -e "$d/cut" ] || { echo "the image arrived in part" >&2; exit 1; }; cat "$d/digest"'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SliceImage:
    """A nanobsd image as the builder made it, compressed by xz(1)."""

    path: Path
    digest: str

    @property
    def name(self) -> str:
        """What to call it."""
        return f"image {self.digest[:12]}"

    def holds(self, text: str) -> bool:
        """Whether a text that a running kernel gives of itself stands in this image."""
        wanted = text.strip().encode("utf-8", errors="replace")
        before = b""
        for chunk in self._chunks():
            window = before + chunk
            if wanted in window:
                return True
            before = window[-len(wanted) :]
        return False

    def check(self) -> None:
        """Read it to its end; UntestableRevision for what is no whole image."""
        for _ in self._chunks():
            pass

    def _chunks(self) -> Iterator[bytes]:
        try:
            with lzma.open(self.path) as file:
                while chunk := file.read(_CHUNK):
                    yield chunk
        except (lzma.LZMAError, EOFError, OSError) as error:
            raise UntestableRevision(
                f"the artefact is no image: {error}",
                hint="upload what slices.upgrade takes, compressed by xz",
            ) from error


def open_image(artefact: Path, digest: str) -> SliceImage:
    """An artefact whose SHA-256 is `digest`; UntestableRevision for what is no whole image."""
    check_digest(artefact, digest)
    image = SliceImage(path=artefact, digest=digest)
    image.check()
    return image


def upgrade(remote: Remote, dut: DutSettings, limits: Limits, image: SliceImage) -> None:
    """Have the DUT write an image to its other slice; checked by digest as it arrives."""
    if not dut.upgrading:
        raise InfraError(
            f"{remote.address} has no command that writes an image", hint="see slices.upgrade"
        )
    before = _completed(remote, dut)
    with image.path.open("rb") as stream:
        command = ("sh", "-c", _UPGRADE, *dut.upgrading)
        arrived = remote.need(*command, deadline_s=limits.transfer_s, stdin=stream).strip()
    if arrived != image.digest:
        raise InfraError(
            f"{remote.address}: an image with SHA-256 {arrived or 'none'} arrived,"
            f" not {image.digest}",
            hint="transfer it again",
        )
    if dut.upgrade_log and _completed(remote, dut) <= before:
        raise InfraError(
            f"{remote.address}: its log does not say {quoted(dut.upgrade_log)}",
            hint="see /var/log/messages there",
        )


def _completed(remote: Remote, dut: DutSettings) -> int:
    if not dut.upgrade_log:
        return 0
    answer = remote.run("grep", "-c", dut.upgrade_log, dut.path("var/log/messages"))
    return int(answer.stdout) if answer.stdout.strip().isdecimal() else 0
