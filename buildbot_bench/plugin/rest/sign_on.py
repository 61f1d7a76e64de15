"""Log-in by OAuth sites and a reverse proxy, beside the farm's own passwords.

Names of several places are kept apart: `ann` has a password here, `ann@github` an account there.
"""

import os
import secrets
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from buildbot import config
from buildbot.www.auth import AuthBase, RemoteUserAuth, UserInfoProviderBase
from buildbot.www.authz.roles import RolesFromBase
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.web.http import SERVICE_UNAVAILABLE
from twisted.web.resource import Resource

from buildbot_bench.plugin.private_files import SESSION_KEY

REMOTE = "proxy"


def place_of(auth: AuthBase) -> str:
    """The part behind the @ of the names that come from there."""
    return REMOTE if isinstance(auth, RemoteUserAuth) else str(getattr(auth, "name", "")).lower()


class NamedAfterPlace(UserInfoProviderBase):
    """Puts the place behind each name, so that no person there has the roles of somebody here."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.name = place

    def getUserInfo(self, username: str) -> Deferred[dict[str, str]]:
        """What Buildbot is to know of a user besides, the name among it."""
        return succeed({"username": f"{username.partition('@')[0]}@{self.name}"})


class LoginByEither(Resource):
    """A request that brings a password is answered by one resource, any other by the other one."""

    isLeaf = True

    def __init__(self, *, password: Any, elsewhere: Any) -> None:
        super().__init__()
        self._password = password
        self._elsewhere = elsewhere

    def render(self, request: Any) -> Any:
        """Commands bring a password, browsers do not."""
        brought = request.getHeader(b"authorization") is not None
        return (self._password if brought else self._elsewhere).render(request)


class NotYet(Resource):
    """Answers until the master has taken over what its new configuration says of log-ins.

    Buildbot shows the new way to log in some tenths of a second before that.
    """

    isLeaf = True

    def render(self, request: Any) -> bytes:
        """503; a browser asks again by itself."""
        request.setResponseCode(SERVICE_UNAVAILABLE)
        request.setHeader(b"retry-after", b"1")
        request.setHeader(b"refresh", b"1")
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        return b"The farm reads its configuration. Try again in a second.\n"


class BenchRolesFromGroups(RolesFromBase):
    """Gives the members of any of these groups all of these roles."""

    def __init__(self, *, roles: Collection[str], groups: Collection[str]) -> None:
        super().__init__()
        self._roles = list(roles)
        self._groups = frozenset(groups)

    def getRolesFromUser(self, userDetails: Mapping[str, Any]) -> list[str]:
        """The roles of somebody whose groups a site reported."""
        return self._roles if self._groups & set(userDetails.get("groups", ())) else []


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
