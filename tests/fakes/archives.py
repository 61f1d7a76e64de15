"""Archives of programs, as a job's `tar -czf` writes them."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def pack(path: Path, programs: Mapping[str, str]) -> Path:
    """Write an archive of files that may be run: their contents by name."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in programs.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content.encode()), 0o755
            archive.addfile(info, io.BytesIO(content.encode()))
    return path
