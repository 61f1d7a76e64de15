"""`bench-farm take-kernel`: a pkgbase repository's kernel becomes an archive that a search boots.

A repository holds one kernel of each configuration, and which commit it is of only the kernel says.
What is taken is named by that, and its SHA-256 lies beside it.
"""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from buildbot_bench.archives.contents import contents_apart
from buildbot_bench.archives.members import DAMAGED, opened
from buildbot_bench.archives.prebuilt import SHA256, SHORT, named_in, take
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import KERNEL_ARCHIVE, MIB, ArchiveBudget

# pkg-repository(5): the catalogue has a JSON object on each line. FreeBSD's base has 600 packages,
# whose manifests take 2 MB. Until 1.17, pkg named it by how it is compressed.
_CATALOGUES = tuple(f"packagesite.{end}" for end in ("pkg", "tzst", "txz", "tbz", "tgz", "tar"))
_LISTED = "packagesite.yaml"
_MOST_LISTED = 64 * MIB
_KERNEL = "/boot/kernel/"


def take_kernel(repository: str, directory: Path, ident: str = "GENERIC") -> str:
    """Write a repository's kernel of a configuration as `{short}.tgz` unless it is there; in words.

    That the repository is the one that is meant nothing but its address says: signatures of the
    catalogue are not looked at.
    """
    place = repository.rstrip("/")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".taking-") as scratch:
        package, packed = Path(scratch, "package"), Path(scratch, "kernel.tgz")
        name = f"FreeBSD-kernel-{ident.lower()}"
        listed = _listed(place, name, package)
        wanted = listed["sum"]
        if known := [one.stem for one in directory.glob("*.package") if one.read_text() == wanted]:
            return f"{directory / known[0]}.tgz is the kernel of {listed['version']} already"
        if not _taken(f"{place}/{listed['path']}", wanted, package, KERNEL_ARCHIVE):
            raise InfraError(f"{place} lists {quoted(listed['path'])}, which is not there")
        _repack(package, packed)
        version = contents_apart(packed).version
        commit = next((one for one in named_in(version) if len(one) >= SHORT), "")[:SHORT]
        if not commit:
            raise UsageError(f"the kernel names no commit: it says {quoted(version.strip()[:80])}")
        target = directory / f"{commit}.tgz"
        with packed.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        target.with_name(f"{target.name}.sha256").write_text(f"{digest}  {target.name}\n")
        packed.replace(target)
        target.with_suffix(".package").write_text(wanted)
    return f"{target} is the kernel of {listed['version']}"


def _listed(place: str, name: str, file: Path) -> dict[str, str]:
    """What the catalogue says of a package."""
    catalogue = replace(KERNEL_ARCHIVE, total_bytes=_MOST_LISTED, member_bytes=_MOST_LISTED)
    if not any(_taken(f"{place}/{one}", "", file, catalogue) for one in _CATALOGUES):
        raise UsageError(
            f"{place} is no repository of packages: it has no {_CATALOGUES[0]}",
            hint="e.g. https://pkg.freebsd.org/FreeBSD:15:amd64/base_latest",
        )
    lines = (
        line
        for path, content in _files(file, catalogue)
        if path == _LISTED
        for line in content.splitlines()
    )
    found: dict[str, str] = {}
    for line in lines:
        if f'"{name}"'.encode() in line:
            try:
                package = json.loads(line)
                if package["name"] == name:
                    found = {key: str(package[key]) for key in ("path", "sum", "version")}
            except (ValueError, LookupError, TypeError) as error:
                raise InfraError(f"{place} lists {name} as nobody reads it: {error!r}") from error
    if not found:
        raise UsageError(f"{place} has no package {name}", hint="see --ident")
    if not SHA256.fullmatch(found["sum"]):
        raise InfraError(f"{place} states no SHA-256 of {name}")
    return found


def _taken(place: str, wanted: str, file: Path, budget: ArchiveBudget) -> bool:
    """As `take`, with a hint for somebody who named a repository."""
    try:
        return take(place, wanted, file, budget)
    except InfraError as error:
        raise InfraError(error.message, hint="see what answers at the repository's URL") from error


def _files(file: Path, budget: ArchiveBudget) -> Iterator[tuple[str, bytes]]:
    """The files of a package, or of a catalogue, with their names."""
    try:
        with opened(file, budget) as (_, archive):
            for member in archive:
                if (content := member.content()) is not None:
                    yield member.info.name, content
    except DAMAGED as error:
        raise InfraError(f"what the repository sent is no archive: {error}") from error


def _repack(package: Path, target: Path) -> None:
    """Write the kernel and its modules as builders do: by relative names, without the rest."""
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        for name, content in _files(package, KERNEL_ARCHIVE):
            if name.startswith(_KERNEL):
                info = tarfile.TarInfo(name.lstrip("/"))
                info.size, info.mode = len(content), 0o555
                archive.addfile(info, fileobj=io.BytesIO(content))
