"""The contents of an artefact: the kernel's digest and the builder's manifest."""

import hashlib
import json
import re
import resource
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from buildbot_bench.archives.members import DAMAGED, Decompressed, KernelTar, Member, opened
from buildbot_bench.core.elf import Sizes, sizes
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import KERNEL_ARCHIVE, ArchiveBudget, spoken
from buildbot_bench.core.neutral import (
    MOST_BYTES,
    NAME,
    Manifest,
    digest_of_files,
    neutral_digest,
    parse_manifest,
)

# POSIX's pax: two blocks of zeros end an archive.
_END_BYTES = 2 * tarfile.BLOCKSIZE
# Of sys/conf/newvers.sh: name and release, what was built and when; who built it, where, and ident.
_VERSION = re.compile(rb"FreeBSD [0-9]{1,3}\.[0-9]{1,3}-[^\0\n]{1,200}\n {1,8}[^\0\n]{1,300}")

# FreeBSD 14 has 900 modules, and POSIX's NAME_MAX is 255: what is kept of an image is bounded.
_MOST_MODULES, _LONGEST_NAME = 2000, 255


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """`kernel_digest`: the SHA-256 that kernels share which differ only in what builds tell.

    `version` is what the kernel says of itself, as `sysctl kern.version`; empty of what says none.
    `kernel` and `modules`, the latter by file name, are sizes; of what is no ELF file there are
    none.
    """

    kernel_digest: str
    manifest: Manifest | None = None
    version: str = ""
    kernel: Sizes | None = None
    modules: dict[str, Sizes] = field(default_factory=dict)


def contents(path: Path, budget: ArchiveBudget = KERNEL_ARCHIVE) -> Contents:
    """Read an artefact; one that cannot be read as a kernel is known by all of its bytes.

    Raises UntestableRevision for what is surely no kernel: an archive without one, nothing but
    zeros, which is what an empty archive consists of, or more than the budget.
    """
    try:
        with opened(path, budget) as (decompressed, archive):
            return _of_archive(decompressed, archive)
    except DAMAGED:
        pass
    if path.stat().st_size <= budget.member_bytes:
        data = path.read_bytes()
        version = _version(data)
        return Contents(kernel_digest=neutral_digest(data), version=version, kernel=sizes(data))
    with path.open("rb") as file:
        return Contents(kernel_digest=hashlib.file_digest(file, "sha256").hexdigest())


def _of_archive(decompressed: Decompressed, archive: KernelTar) -> Contents:
    digests: dict[PurePosixPath, tuple[str, str]] = {}
    manifest: Manifest | None = None
    has_file, version = False, ""
    counted: dict[str, Sizes] = {}
    for member in _whole(decompressed, archive):
        info, name = member.info, PurePosixPath(member.info.name)
        if name.name == NAME:
            manifest = _manifest(member.content())
        elif name in digests or "\n" in info.name:
            raise tarfile.TarError(f"{quoted(info.name)} is no member of a kernel's archive")
        elif not info.isdir():
            content = member.content()
            digest = _of_link(info) if content is None else neutral_digest(content)
            digests[name] = (info.name, digest)
            has_file |= content is not None
            if name.name == "kernel" and content is not None:
                version = _version(content)
            if content is not None and _is_counted(name.name) and (size := sizes(content)):
                counted[name.name] = size
    if not has_file:
        raise UntestableRevision("the artefact is an archive without a kernel")
    if sum(name.name == "kernel" for name in digests) > 1:
        raise tarfile.TarError("which of several kernels is booted depends on their order")
    kernel = counted.pop("kernel", None)
    return Contents(
        kernel_digest=digest_of_files(digests.values()),
        manifest=manifest,
        version=version,
        kernel=kernel,
        modules=dict(sorted(counted.items())[:_MOST_MODULES]),
    )


def _is_counted(name: str) -> bool:
    """Whether a file of that name may be in memory when the kernel runs."""
    return not name.endswith(".debug") and len(name) <= _LONGEST_NAME


def _version(kernel: bytes) -> str:
    found = _VERSION.search(kernel)
    return found[0].decode("utf-8", "replace") if found else ""


def _whole(decompressed: Decompressed, archive: KernelTar) -> Iterator[Member]:
    """The members of an archive; tarfile takes anything that is no header for the end."""
    if archive.begins_with_zeros():
        decompressed.drain()
        if decompressed.zeros_from == 0:
            raise UntestableRevision("the artefact holds nothing but zeros")
        raise tarfile.TarError("it begins with zeros")
    yield from archive
    if (
        decompressed.drain() < archive.offset + _END_BYTES
        or decompressed.zeros_from > archive.offset
    ):
        raise tarfile.TarError("it does not end as an archive does")


def _of_link(member: tarfile.TarInfo) -> str:
    if not (member.issym() or member.islnk()):
        raise tarfile.TarError(f"{quoted(member.name)} is no file")
    target = member.linkname.encode("utf-8", "surrogateescape")
    return f"link {hashlib.sha256(member.type + target).hexdigest()}"


def _manifest(content: bytes | None) -> Manifest | None:
    if content is None:
        return None
    try:
        return parse_manifest(content[:MOST_BYTES].decode("utf-8", "replace"))
    except UsageError:
        return None


_REFUSED = "refused"
_MOST_SAID = 500  # characters of what a process says as it fails


def contents_apart(path: Path, budget: ArchiveBudget = KERNEL_ARCHIVE) -> Contents:
    """What `contents` gives, read by a child process within the budget; this blocks."""
    # -P: what lies in the master's directory is not imported.
    command = [sys.executable, "-P", "-m", __name__, str(path), json.dumps(asdict(budget))]
    try:
        ended = subprocess.run(  # noqa: S603 - our own module, no shell
            command, capture_output=True, check=False, timeout=budget.wall_s
        )
    except subprocess.TimeoutExpired as error:
        raise InfraError(
            f"an artefact of the master was not read within {budget.wall_s} s",
            hint="see how busy the master's disk is",
        ) from error
    if ended.returncode == -signal.SIGXCPU:
        raise UntestableRevision(f"the artefact takes more than {budget.cpu_s} s to read")
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "replace").strip()[-_MOST_SAID:]
        raise InfraError(f"an artefact could not be read (exit {ended.returncode}): {said}")
    found = json.loads(ended.stdout)
    if _REFUSED in found:
        raise UntestableRevision(found[_REFUSED])
    manifest, kernel = found["manifest"], found["kernel"]
    return Contents(
        kernel_digest=found["kernel_digest"],
        manifest=Manifest(**manifest) if manifest else None,
        version=found["version"],
        kernel=Sizes(*kernel) if kernel else None,
        modules={name: Sizes(*size) for name, size in found["modules"].items()},
    )


def _read(path: Path, budget: ArchiveBudget) -> dict[str, object]:
    resource.setrlimit(resource.RLIMIT_AS, (budget.memory_bytes, budget.memory_bytes))
    # Beyond the first one it is told, by a signal that ends it.
    resource.setrlimit(resource.RLIMIT_CPU, (budget.cpu_s, budget.cpu_s + 1))
    try:
        return asdict(contents(path, budget))
    except UntestableRevision as error:
        return {_REFUSED: error.message}
    except MemoryError:
        memory = spoken(budget.memory_bytes)
        return {_REFUSED: f"the artefact takes more than {memory} of memory to read"}


if __name__ == "__main__":
    print(json.dumps(_read(Path(sys.argv[1]), ArchiveBudget(**json.loads(sys.argv[2])))))  # noqa: T201
