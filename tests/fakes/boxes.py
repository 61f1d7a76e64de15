"""What a box is made of, with nothing in it: no machine of such a box boots."""

import io
import tarfile
from pathlib import Path


def parts_of_a_box(place: Path) -> tuple[Path, Path]:
    """Write a world of empty files and a kernel archive into a directory; returns both."""
    for name in ("boot/pmbr", "boot/gptboot", "boot/loader", "sbin/init", "usr/sbin/sshd"):
        (place / "world/root" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "world/root" / name).write_bytes(b"boot")
    with tarfile.open(place / "kernel.txz", "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("kernel"), io.BytesIO(b""))
    return place / "world", place / "kernel.txz"
