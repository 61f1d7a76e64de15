"""The key that signs sessions, in a file beside the passwords; it reads no session.

Buildbot 4.3 makes the key itself and keeps it in its database, where all who may read that, or a
backup of it, find what lets them in as anybody.
"""

from __future__ import annotations

import stat
from functools import partial
from pathlib import Path
from typing import Any

from buildbot import config
from buildbot.www.service import BuildbotSite

NAME = "session.key"
# HS256, which Buildbot signs by, wants as many bits as its digest has (RFC 7518, 3.2); in hex.
FEWEST_CHARACTERS = 32


def read_session_key(directory: Path) -> str | None:
    """The key in a directory; None when there is no such file, and Buildbot's own is used.

    Buildbot does not start, or goes on as it was, with a file that others can read, or that is too
    short to be a key.
    """
    path = directory / NAME
    try:
        key, mode = path.read_text().strip(), path.stat().st_mode
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        config.error(f"{path}: {error}: write one by `openssl rand -hex 32 > {NAME}`")
        return None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        config.error(f"{path} is open to others: chmod 600 {path}")
    if len(key) < FEWEST_CHARACTERS:
        config.error(
            f"{path} has {len(key)} characters, fewer than {FEWEST_CHARACTERS}:"
            f" write one by `openssl rand -hex 32 > {NAME}`"
        )
    return key


def sign_sessions(site: Any, key: str | None) -> None:
    """Have a site go by this key, or by Buildbot's when it is None, from its next configuration on.

    Buildbot sets its own right after it has configured who logs in, and offers no other way.
    """
    site.setSessionSecret = partial(_set, site, key)


def _set(site: Any, key: str | None, buildbots: str) -> None:
    BuildbotSite.setSessionSecret(site, buildbots if key is None else key)
