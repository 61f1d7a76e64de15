"""Log-in by password files, OAuth sites or a proxy, and the roles that our resources demand.

Password files may change while the farm runs. A patch is code that runs on builders and DUTs: a
patch of somebody without the role `approve` is built only after approval. Names of several places
are kept apart: `ann` has a password here, `ann@github` an account there.
"""

import hmac
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from buildbot import config
from buildbot.www.auth import AuthBase, CustomAuth, RemoteUserAuth, UserInfoProviderBase
from buildbot.www.authz import Authz, Forbidden
from buildbot.www.authz.endpointmatchers import EndpointMatcherBase, Match
from buildbot.www.authz.roles import RolesFromBase
from twisted.cred.error import UnauthorizedLogin
from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.web.guard import BasicCredentialFactory
from twisted.web.http import SERVICE_UNAVAILABLE
from twisted.web.resource import Resource

from buildbot_bench.core.legible import quoted
from buildbot_bench.plugin.buildbot_fixes.session_cookies import sign_sessions
from buildbot_bench.plugin.private_files import SESSION_KEY

_LOG = Logger()

APPROVE, CONTROL = "approve", "bench"

# Chosen: who mistypes waits for a moment, who guesses tries some 8000 passwords a day.
FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 10.0
# Answers that wait at a time, for one address; names whose mistakes are counted. They take memory.
MOST_WAITING, MOST_NAMES = 100, 1000

_USER = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,49}")


class _BasicWithAddress(BasicCredentialFactory):
    """HTTP Basic, which also says where it came from."""

    def decode(self, response: bytes, request: Any) -> Any:
        credentials = super().decode(response, request)
        credentials.address = getattr(request.getClientAddress(), "host", "a local socket")
        return credentials


class BenchAuth(CustomAuth):
    """HTTP Basic against the files `<directory>/<user>.login`, each with one password.

    Sessions are signed by the key in `<directory>/session.key`, drawn where there is none.
    With `elsewhere`, one of Buildbot's ways to log in by OAuth or a reverse proxy, browsers log in
    there, as `<user>@<place>`; commands bring their passwords as before.
    """

    def __init__(
        self, directory: Path, *, elsewhere: AuthBase | None = None, clock: Any = reactor
    ) -> None:
        super().__init__()
        self.master: Any = None  # until `reconfigAuth`; requests may come before it
        self.elsewhere = elsewhere
        if elsewhere is not None:
            elsewhere.userInfoProvider = _NamedAfterPlace(_place_of(elsewhere))
        self._directory = directory
        self.session_key = _read_session_key(directory)
        self._clock = clock
        self.credentialFactories = [_BasicWithAddress(b"buildbot")]
        self._wrong: Counter[bytes] = Counter()
        self._waiting: Counter[str] = Counter()

    def reconfigAuth(self, master: Any, new_config: Any) -> None:
        """Buildbot says which master it is for."""
        super().reconfigAuth(master, new_config)
        if self.session_key is None:
            self.session_key = _draw_session_key(self._directory)
        sign_sessions(master.www.site, self.session_key, new_config.buildbotURL)
        if self.elsewhere is not None:
            self.elsewhere.reconfigAuth(master, new_config)

    def getConfigDict(self) -> dict[str, Any]:
        """What Buildbot's pages are to know of the way to log in."""
        return super().getConfigDict() if self.elsewhere is None else self.elsewhere.getConfigDict()

    def getLoginResource(self) -> Any:
        """What answers auth/login."""
        if self.master is None:
            return _NotYet()
        password = super().getLoginResource()
        if self.elsewhere is None:
            return password
        return _LoginByEither(password=password, elsewhere=self.elsewhere.getLoginResource())

    def getLogoutResource(self) -> Any:
        """What answers auth/logout."""
        return _NotYet() if self.master is None else super().getLogoutResource()

    def maybeAutoLogin(self, request: Any) -> Deferred[None]:
        """A reverse proxy says with each request for the page who asks."""
        if self.elsewhere is None:
            return super().maybeAutoLogin(request)
        return self.elsewhere.maybeAutoLogin(request)

    def requestAvatarId(self, cred: Any) -> Deferred[bytes]:
        """As Buildbot does; a wrong password is named in the log, and answered later each time.

        Who guesses by many connections at once is refused when too many wait; who comes from
        another address is not.
        """
        user = cred.username if _USER.fullmatch(cred.username) else b""
        has_room = self._waiting[cred.address] < MOST_WAITING
        if has_room and self.check_credentials(cred.username, cred.password):
            del self._wrong[user]
            return succeed(cred.username)
        _LOG.warn(
            "bench: a log-in as {user} from {address} was refused",
            user=quoted(cred.username.decode("utf-8", "replace"), columns=50),
            address=cred.address,
        )
        if not has_room:
            return fail(UnauthorizedLogin())
        if len(self._wrong) >= MOST_NAMES:
            self._wrong.clear()
        self._wrong[user] += 1
        self._waiting[cred.address] += 1
        pause_s = min(FIRST_PAUSE_S * 2 ** min(self._wrong[user] - 1, 20), MOST_PAUSE_S)
        return deferLater(self._clock, pause_s, self._refuse, cred.address)

    def _refuse(self, address: str) -> None:
        """Answer a wrong password."""
        self._waiting[address] -= 1
        if not self._waiting[address]:
            del self._waiting[address]
        raise UnauthorizedLogin

    def check_credentials(self, username: bytes, password: bytes) -> bool:
        """Whether the user's file has that password."""
        if not _USER.fullmatch(username):
            return False
        try:
            secret = (self._directory / f"{username.decode()}.login").read_bytes().strip()
        except OSError:
            return False
        return bool(secret) and hmac.compare_digest(secret, password)


class _Key(Enum):
    """A key of a request's parameters that no JSON has, so that nobody can send it."""

    ROLES = "roles"


class BenchAuthz(Authz):
    """Buildbot's authorisation, which also gives our own resources the roles of who asks."""

    def assertUserAllowed(
        self, ep: Any, action: str, options: dict[Any, Any], userDetails: dict[str, Any]
    ) -> Deferred[None]:
        """As Buildbot does; `options` are the parameters that the resource gets."""
        if ep and ep[0] == "bench":
            options[_Key.ROLES] = frozenset(self.getRolesFromUser(userDetails))
        return super().assertUserAllowed(ep, action, options, userDetails)


class ComparisonStartMatcher(EndpointMatcherBase):
    """Matches the request to compare variants; let it stand before AnyControlEndpointMatcher.

    With `defaultDeny=False` those who lack its role are asked for that of the next rule.
    """

    def match_ComparisonsEndpoint_start(self, *_: Any) -> Deferred[Match]:
        """All of them."""
        return succeed(Match(self.master))

    def match_ComparisonEndpoint_extend(self, *_: Any) -> Deferred[Match]:
        """What is compared may be compared for longer, and with others."""
        return succeed(Match(self.master))


def may(args: Mapping[Any, Any], role: str) -> bool:
    """Whether the person who asks has a role; another authorisation than ours has decided."""
    roles = args.get(_Key.ROLES)
    return roles is None or role in roles


def require(args: Mapping[Any, Any], role: str) -> None:
    """Let nobody pass who lacks a role."""
    if not may(args, role):
        raise Forbidden(f"you need to have role '{role}'".encode())


def owner_of(args: Mapping[Any, Any]) -> str:
    """Who asks, as Buildbot names them; empty when nobody knows."""
    return str(args.get("owner") or "")


def _place_of(auth: AuthBase) -> str:
    """The part behind the @ of the names that come from there."""
    return "proxy" if isinstance(auth, RemoteUserAuth) else str(getattr(auth, "name", "")).lower()


class _NamedAfterPlace(UserInfoProviderBase):
    """Puts the place behind each name, so that no person there has the roles of somebody here."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.name = place

    def getUserInfo(self, username: str) -> Deferred[dict[str, str]]:
        """What Buildbot is to know of a user besides, the name among it."""
        return succeed({"username": f"{username.partition('@')[0]}@{self.name}"})


class _LoginByEither(Resource):
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


class _NotYet(Resource):
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


# HS256, which Buildbot signs by, wants as many bits as its digest has (RFC 7518, 3.2); in hex.
_FEWEST_CHARACTERS = 32


def _read_session_key(directory: Path) -> str | None:
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
    if len(key) < _FEWEST_CHARACTERS:
        config.error(
            f"{path} has {len(key)} characters, fewer than {_FEWEST_CHARACTERS}:"
            f" write one by `openssl rand -hex 32 > {SESSION_KEY}`"
        )
    return key


def _draw_session_key(directory: Path) -> str:
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
