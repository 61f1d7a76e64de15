"""The archive of a kernel, its modules and manifest, reproducible byte for byte."""

import io
import lzma
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from buildbot_bench.archives.contents import MANIFEST_NAME, Manifest, neutral_digest, write_manifest
from buildbot_bench.core import elf
from buildbot_bench.core.errors import UntestableRevision

_PRESET = 0  # xz -0: 3 % larger than -1 makes it, in two thirds of its time


def files_below(directory: Path) -> dict[str, Path]:
    """The files of an installed kernel by their names in the archive."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    whole = directory.resolve()
    for path in found:
        if not path.resolve().is_relative_to(whole):
            raise UntestableRevision(
                f"{path.relative_to(directory)} is a symbolic link that leads out of the kernel"
            )
    return {str(path.relative_to(directory)): path for path in found}


def write_hints(directory: Path) -> None:
    """Write the index of an installed kernel's modules, unless its own build system did."""
    if (directory / elf.NAME).exists():
        return
    modules = {path.name: path for path in directory.glob("*.ko") if not path.is_symlink()}
    index = elf.linker_hints({name: path.read_bytes() for name, path in modules.items()})
    if index:
        (directory / elf.NAME).write_bytes(index)


def pack(files: Mapping[str, Path], manifest: Manifest, output: Path) -> Manifest:
    """Write the archive; returns the manifest with the digests of what was packed."""
    if not any(Path(name).name == "kernel" for name in files):
        raise UntestableRevision("the build made no kernel")
    digests = {name: neutral_digest(path.read_bytes()) for name, path in files.items()}
    whole = replace(manifest, files=digests)
    unfinished = output.with_name(f".{output.name}.part")
    with (
        lzma.open(unfinished, "wb", preset=_PRESET) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        _add(archive, MANIFEST_NAME, write_manifest(whole).encode())
        for name, path in sorted(files.items()):
            _add(archive, name, path.read_bytes())
    unfinished.replace(output)
    return whole


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o555
    archive.addfile(info, io.BytesIO(content))
