"""Log-in by OAuth sites and a reverse proxy, beside the farm's own passwords.

Names of several places are kept apart: `ann` has a password here, `ann@github` an account there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from buildbot.www.auth import AuthBase, RemoteUserAuth, UserInfoProviderBase
from buildbot.www.authz.roles import RolesFromBase
from twisted.internet.defer import Deferred, succeed
from twisted.web.http import SERVICE_UNAVAILABLE
from twisted.web.resource import Resource

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
