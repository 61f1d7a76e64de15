"""The key that signs sessions, in a file beside the passwords."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from buildbot import config
from twisted.logger import Logger

from buildbot_bench.plugin.private_files import SESSION_KEY

_LOG = Logger()

# HS256, which Buildbot signs by, wants as many bits as its digest has (RFC 7518, 3.2); in hex.
FEWEST_CHARACTERS = 32


def read_session_key(directory: Path) -> str | None:
    """The key in a directory; None when there is no such file.

    Buildbot does not start, or goes on as it was, with a file that others can read, or that is too
    short to be a key.
    """
    path = directory / SESSION_KEY
    try:
        key, mode = path.read_text().strip(), path.stat().st_mode
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        config.error(f"{path}: {error}: write one by `openssl rand -hex 32 > {SESSION_KEY}`")
        return None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        config.error(f"{path} is open to others: chmod 600 {path}")
    if len(key) < FEWEST_CHARACTERS:
        config.error(
            f"{path} has {len(key)} characters, fewer than {FEWEST_CHARACTERS}:"
            f" write one by `openssl rand -hex 32 > {SESSION_KEY}`"
        )
    return key


def draw_session_key(directory: Path) -> str:
    """Write a new key into a directory; where it cannot be written, it holds until the next start.

    Sessions that another key signed end.
    """
    key, path = secrets.token_hex(32), directory / SESSION_KEY
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{key}\n")
    except OSError as error:
        _LOG.warn("bench: each start ends all sessions: {path}: {error}", path=path, error=error)
    return key
