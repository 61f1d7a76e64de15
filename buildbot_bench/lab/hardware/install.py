"""The installation of a kernel on a machine.

On nanobsd the root is mounted read-write for as long as that takes, and never left so: the next
boot would panic on /entropy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.archive import KernelArchive
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
        _remove_earlier(remote, dut)
        try:
            _unpack(remote, limits, packed, directory)
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


def _unpack(remote: Remote, limits: Limits, packed: Path, directory: str) -> None:
    """By way of a directory of another name: the kernel is there wholly or not at all."""
    fresh, staged = f"{directory}.new", f"{directory}.tgz"
    remote.need("rm", "-rf", fresh, directory)
    remote.need("mkdir", "-p", fresh)
    _upload_checked(remote, packed, staged)
    remote.need("tar", "-xzf", staged, "-C", fresh, deadline_s=limits.transfer_s)
    remote.need("rm", "-f", staged)
    remote.need("mv", fresh, directory)


def _upload_checked(remote: Remote, source: Path, target: str) -> None:
    remote.upload(source, target)
    found, wanted = _remote_digest(remote, target), sha256(source)
    if found != wanted:
        raise InfraError(f"{remote.address}: {target} was damaged on its way: {found}")


def _remove_earlier(remote: Remote, dut: DutSettings) -> None:
    """The kernels of earlier jobs; never the known-good one, whose name is another."""
    boot = dut.path("boot")
    remote.need("find", boot, "-maxdepth", "1", "-name", "bench.*", "-exec", "rm", "-rf", "{}", "+")


def _remote_digest(remote: Remote, path: str) -> str:
    answer = remote.run("sha256", "-q", path)
    return answer.stdout.strip() if answer.status == 0 else ""
