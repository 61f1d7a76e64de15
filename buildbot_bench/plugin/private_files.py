"""File modes that keep a farm's files from other users of the machine.

The master's database holds the secret that signs sessions: a copy of it opens every account. Logs
and artefacts hold patches that wait for approval.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

PRIVATE_UMASK = 0o077
SESSION_KEY = "session.key"
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(root: Path) -> None:
    """Take all rights to a directory tree from everybody but its owner.

    Symbolic links are not followed. What vanishes meanwhile, and what belongs to another user, is
    left as it is. Raises OSError when `root` itself cannot be changed.
    """
    root.chmod(root.stat().st_mode & ~_OF_OTHERS)
    for path, mode in open_to_others(root):
        try:
            path.chmod(mode & ~_OF_OTHERS)
        except (FileNotFoundError, PermissionError):
            continue


def open_to_others(root: Path) -> Iterator[tuple[Path, int]]:
    """Files and directories below a directory that give others a right, each with its mode."""
    for directory, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(directory, name)
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
            if mode & _OF_OTHERS and not stat.S_ISLNK(mode):
                yield path, stat.S_IMODE(mode)
