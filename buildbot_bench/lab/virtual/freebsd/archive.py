"""The wanted kernel and modules of an artefact, unpacked under names of our own."""

import shutil
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from buildbot_bench.archives.members import DAMAGED, opened
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.lab.files import check_digest, sha256
from buildbot_bench.lab.virtual.kind import FileKind, kind_of
from buildbot_bench.lab.virtual.system import BootImage

KERNEL, DEBUG = "kernel", "kernel.debug"


def unpack(
    artefact: Path,
    digest: str,
    directory: Path,
    modules: Collection[str],
    optional: Collection[str] = (),
) -> BootImage:
    """Put an artefact's kernel and those modules into a directory, which is emptied before.

    Modules are named without `.ko`; the optional ones may be missing and nobody minds. Another
    digest, or another kind of testbed's kernel, is an InfraError.
    """
    check_digest(artefact, digest)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    kernel, debug = directory / KERNEL, directory / DEBUG
    if kind_of(artefact) is FileKind.ARCHIVE:
        wanted = {f"{module}.ko" for module in (*modules, *optional)}
        for name, content in _take_out(artefact, {KERNEL, DEBUG, *wanted}).items():
            (directory / name).write_bytes(content)
        if not kernel.exists():
            raise UntestableRevision(
                "there is no file 'kernel' in the artefact",
                hint="upload a tar file of /boot/kernel",
            )
    else:
        shutil.copyfile(artefact, kernel)
    _require_bootable(kernel)
    found = {module: directory / f"{module}.ko" for module in dict.fromkeys((*optional, *modules))}
    return BootImage(
        kernel=kernel,
        digest=sha256(kernel),
        modules={module: path for module, path in found.items() if path.exists()},
        debug=debug if debug.exists() else None,
        missing=tuple(module for module in modules if not found[module].exists()),
    )


def _take_out(artefact: Path, names: Collection[str]) -> dict[str, bytes]:
    """The files of those names, the least deep of each; one pass over the archive."""
    found: dict[str, tuple[int, bytes]] = {}
    try:
        with opened(artefact) as (_, archive):
            for member in archive:
                path = PurePosixPath(member.info.name)
                depth = len(path.parts)
                if path.name not in names or not member.info.isreg():
                    continue
                if path.name not in found or depth < found[path.name][0]:
                    found[path.name] = (depth, member.content() or b"")
    except DAMAGED as error:
        raise UntestableRevision(
            f"the artefact is no kernel archive: {error}", hint="upload a tar file of /boot/kernel"
        ) from error
    return {name: content for name, (_, content) in found.items()}


def _require_bootable(kernel: Path) -> None:
    match kind := kind_of(kernel):
        case FileKind.FREEBSD | FileKind.AMD64:
            return
        case FileKind.OTHER | FileKind.ARCHIVE:
            raise UntestableRevision("the artefact holds no kernel", hint="see `bench-build`")
    raise InfraError(
        f"the artefact is {kind}, and this testbed boots FreeBSD kernels for amd64",
        hint="send the job to another testbed, or change `system` of this one in testbeds.toml",
    )
