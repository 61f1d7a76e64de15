"""The flushing of written files to disk, so that they outlive a power cut."""

import os
from pathlib import Path


def bring_to_disk(path: Path) -> None:
    """Wait until the bytes of a file, or the names in a directory, are on the disk.

    A file that is renamed before its bytes are there is empty after a power cut.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
