"""The key that signs sessions, in a file beside the passwords, and guarded cookies.

Buildbot 4.3 keeps the key in its database, where a reader of it, or of a backup, could log in as
anybody. Its cookies can be read by scripts and go along with requests of other sites.
"""

from __future__ import annotations

import os
import secrets
import stat
from functools import partial
from pathlib import Path
from typing import Any

from buildbot import config
from buildbot.www.service import BuildbotSite
from twisted.logger import Logger
from twisted.web.server import Request

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


def sign_sessions(site: Any, key: str, url: str) -> None:
    """Have a site go by this key from its next configuration on, and send its cookies guarded.

    Buildbot sets its own right after it has configured who logs in, and offers no other way. `url`
    is the farm's, as browsers see it: of one behind a proxy that speaks TLS no request tells.
    """
    site.setSessionSecret = partial(_set, site, key)
    site.requestFactory = partial(_Request, is_secure=url.startswith("https:"))


def _set(site: Any, key: str, _buildbots: str) -> None:
    BuildbotSite.setSessionSecret(site, key)


class _Request(Request):
    """A request whose cookies no script reads, and that other sites' forms do not bring along.

    A link from another site does: the site of an OAuth login leads back by one.
    """

    def __init__(self, *args: Any, is_secure: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_secure = is_secure

    def addCookie(self, k: Any, v: Any, **kwargs: Any) -> None:
        secure = self._is_secure or kwargs.get("secure")
        super().addCookie(
            k, v, **(kwargs | {"secure": secure, "httpOnly": True, "sameSite": "lax"})
        )
