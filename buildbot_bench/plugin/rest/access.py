"""Who may log in, and what of the farm's own is allowed to whom.

Who has a password file may log in; the files may change while the farm runs. A patch is code that
runs on the builders and on the DUT: those without the role `approve` may have one built only when
somebody with it has approved.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from buildbot.www.auth import CustomAuth
from buildbot.www.authz import Authz, Forbidden
from buildbot.www.authz.endpointmatchers import EndpointMatcherBase, Match
from twisted.internet.defer import Deferred, succeed

APPROVE = "approve"

_USER = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,49}")


class BenchAuth(CustomAuth):
    """HTTP Basic against the files `<directory>/<user>.login`, each with one password."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

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
    """Buildbot's authorisation, which also tells our own resources the roles of whoever asks."""

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
    """Whether whoever asks has a role; with another authorisation than ours, it has decided."""
    roles = args.get(_Key.ROLES)
    return roles is None or role in roles


def require(args: Mapping[Any, Any], role: str) -> None:
    """Let nobody pass who lacks a role.

    Raises:
        Forbidden: Buildbot answers it with 403.
    """
    if not may(args, role):
        raise Forbidden(f"you need to have role '{role}'".encode())


def owner_of(args: Mapping[Any, Any]) -> str:
    """Who asks, as Buildbot names them; empty when nobody knows."""
    return str(args.get("owner") or "")
