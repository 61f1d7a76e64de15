"""QEMU's arguments for the loader and for the files that it loads."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Handed(NamedTuple):
    """A file, its kind as loader/main.c has it, and the name by which the kernel calls it."""

    path: Path
    kind: str
    name: str = ""


def handing(loader: Path, files: Sequence[Handed], home: Path) -> list[str]:
    """QEMU's arguments; the kernel comes first.

    A space and a comma mean something in -initrd, and a testbed's home may have some: its files are
    named from where QEMU runs, which is the home's directory of logs.
    """
    logs = home / "logs"
    listed = (f"{os.path.relpath(file.path, logs)} {file.kind} {file.name}" for file in files)
    return ["-kernel", str(loader), "-initrd", ",".join(listed)]
