"""The contents of an artefact: the kernel's digest and the builder's manifest.

Kernels with the same neutral digest run the same instructions on the same data, so a measurement of
one holds for the other. Traces are blanked where they stand; nothing is moved, and code is left
alone. They are the strings of FreeBSD's sys/conf/newvers.sh (`version`, `sccs`: arrays of a fixed
least size, padded with NUL; a fork has a name of its own there), of `$FreeBSD$` keywords,
`__DATE__` and `__TIME__`, and the names of revisions. A kernel whose strings differ in length
elsewhere is another kernel.
"""

import hashlib
import json
import re
import resource
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from buildbot_bench.archives.members import DAMAGED, Decompressed, KernelTar, Member, opened
from buildbot_bench.core.elf import NOBITS, Sizes, sections, sizes
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import KERNEL_ARCHIVE, ArchiveBudget, spoken

MANIFEST_NAME = "bench-manifest.json"
_MOST_MANIFEST_BYTES = 1 << 20
_FORMAT = 1  # of the manifest
# POSIX's pax: two blocks of zeros end an archive.
_END_BYTES = 2 * tarfile.BLOCKSIZE
# Of sys/conf/newvers.sh: name and release, what was built and when; who built it, where, and ident.
_VERSION = re.compile(rb"FreeBSD [0-9]{1,3}\.[0-9]{1,3}-[^\0\n]{1,200}\n {1,8}[^\0\n]{1,300}")

# FreeBSD 14 has 900 modules, and POSIX's NAME_MAX is 255: what is kept of an image is bounded.
_MOST_MODULES, _LONGEST_NAME = 2000, 255


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """Of what a kernel was made, and what came of it.

    `variant` is the label and image for a reader; `config` names the kernel configuration and the
    lines that were added to it; `toolchain` is what the compiler says of itself; `flags` are the
    make variables. `files` has the neutral digest of the kernel and each module.
    """

    variant: str = ""
    config: str = ""
    toolchain: str = ""
    flags: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> frozenset[tuple[str, str]]:
        """What a reader of a report wants to compare on both sides, as (name, value)."""
        fields = {"kernel config": self.config, "compiler": self.toolchain, "build": self.flags}
        return frozenset((name, value) for name, value in fields.items() if value)


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
        if name.name == MANIFEST_NAME:
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
        return parse_manifest(content[:_MOST_MANIFEST_BYTES].decode("utf-8", "replace"))
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


def write_manifest(manifest: Manifest) -> str:
    """The manifest as a JSON text that `parse_manifest` reads."""
    return json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=2, sort_keys=True) + "\n"


def parse_manifest(text: str) -> Manifest:
    """Read a manifest."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{MANIFEST_NAME} is no JSON: {error}") from error
    if not isinstance(fields, dict) or fields.pop("format", None) != _FORMAT:
        raise UsageError(
            f"{MANIFEST_NAME} is not of format {_FORMAT}", hint="update buildbot-bench"
        )
    files = fields.pop("files", None)
    texts = {"variant", "config", "toolchain", "flags"}
    if set(fields) != texts or not isinstance(files, dict):
        raise UsageError(f"{MANIFEST_NAME} has the keys {', '.join(sorted(fields))[:200]}")
    if not all(isinstance(text, str) for text in (*fields.values(), *files.values())):
        raise UsageError(f"{MANIFEST_NAME} holds something else than text")
    return Manifest(**fields, files=files)


_BUILD_DEPENDENT = re.compile(
    rb"""
    (?<! [0-9A-Za-z:] )
    (?: (?: @\(\#\) )?  # newvers.sh's line: NAME MAJOR.MINOR-BRANCH, and what was built when
        [A-Za-z][\w.+-]{0,30}[ ]\d{1,3}(?:\.\d{1,3}){1,2}-\w[^\0\n ]{0,30}
        (?= [^\0\n]{0,160}?
            (?: [ ]\#\d{1,6} [^\0\n]{0,120}? :[ ]
              | \b (?: r\d{4,7} | (?: n\d{1,7}- )? [0-9a-f]{7,40} ) \b
            )
        ) [^\0]+
      | Linux[ ]version[ ]\d [^\0]*
      | (?: (?: Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec ) [ ][ \d]\d[ ]\d{4}
          | \d\d:\d\d:\d\d
          | [rn][1-9]\d{4,6} (?: [-+=][0-9a-f]{7,40} )? (?: -dirty )?
          | [0-9a-f]{40} (?: -dirty )?
        ) (?! [0-9A-Za-z:] )
    )
    | \$ (?: FreeBSD | Id | Header | Revision | Date ) : [^$\0\n]{1,300} \$
    """,
    re.VERBOSE,
)
# The identity that the linker gives, and the name and CRC-32 of the file with the symbols.
_IDENTITIES = frozenset({b".note.gnu.build-id", b".gnu_debuglink"})
# What no loader brings into memory and no linker of modules reads.
_UNREAD = re.compile(rb"\.z?debug|\.rela?\.z?debug|\.comment|\.gnu_debuglink|\.SUNW_ctf|\.shstrtab")


def neutralise(data: bytes) -> bytes:
    """The same file, as long, with NUL for what its build tells of itself; code stays as it is."""
    found = sections(data)
    neutral = bytearray(data)
    for section in found:
        if section.name in _IDENTITIES:
            neutral[section.span] = bytes(section.span.stop - section.span.start)
        elif section.is_loaded and not section.is_code and section.kind != NOBITS:
            neutral[section.span] = _BUILD_DEPENDENT.sub(
                lambda found: bytes(len(found[0])), data[section.span]
            )
    for section in found:  # a damaged file may have code within data
        if section.is_code:
            neutral[section.span] = data[section.span]
    return bytes(neutral)


def neutral_digest(data: bytes) -> str:
    """The SHA-256, in hexadecimal, of what of a kernel or module can matter when it runs.

    Where sections lie in the file does not matter, nor do symbols for a debugger. For what is no
    whole ELF file it is the SHA-256 of its bytes.
    """
    found = sections(data)
    if not found:
        return hashlib.sha256(data).hexdigest()
    neutral = neutralise(data)
    digest = hashlib.sha256(data[4:8] + data[16:24])  # the class of machine
    for section in found:
        if not _UNREAD.match(section.name):
            heading = section.kind, section.flags, section.address, section.size, section.name
            digest.update(repr(heading).encode())
            digest.update(neutral[section.span])
    return digest.hexdigest()


def digest_of_files(digests: Iterable[tuple[str, str]]) -> str:
    """One digest for (name, neutral digest) of a kernel and its modules, but debuggers' files."""
    counted = sorted((name, digest) for name, digest in digests if not name.endswith(".debug"))
    text = "".join(f"{digest} {name}\n" for name, digest in counted)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


if __name__ == "__main__":
    print(json.dumps(_read(Path(sys.argv[1]), ArchiveBudget(**json.loads(sys.argv[2])))))  # noqa: T201
