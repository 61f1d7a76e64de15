"""Checks of a master's configuration for unsafe log-ins and connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from buildbot.config import error
from buildbot.www.auth import RemoteUserAuth
from buildbot.www.authz.roles import RolesFromUsername
from twisted.logger import Logger

from buildbot_bench.core.legible import quoted
from buildbot_bench.core.listening import listening
from buildbot_bench.plugin.operations.ports import kind_of, worker_ports
from buildbot_bench.plugin.rest.access import BenchAuth

_LOG = Logger()

# By its name: the module of Buildbot's that it is in needs a library that few have.
_GOOGLE = "Google"


def check_access(config: Mapping[str, Any]) -> None:
    """Tell Buildbot what is wrong with `www`, and the log what is not secret with the workers."""
    www = config.get("www") or {}
    auth = www.get("auth")
    ways = [auth, getattr(auth, "elsewhere", None)]
    if any(isinstance(way, RemoteUserAuth) for way in ways):
        _check_proxy(www)
    if any(getattr(way, "name", None) == _GOOGLE for way in ways):
        _check_google(www, alone=getattr(auth, "name", None) == _GOOGLE)
    several = (config.get("mq") or {}).get("type") == "wamp"
    if several and isinstance(auth, BenchAuth) and auth.session_key is None:
        error(
            "www: a login at one of several masters is a login at all: let each have the same"
            " secrets/session.key, made once by `openssl rand -hex 32`"
        )
    for port in worker_ports(config.get("protocols") or {}):
        where = listening(port)
        if not (where.is_local or where.is_encrypted):
            _LOG.warn(
                "bench: workers connect without encryption: {port}; see SECURITY.md",
                port=kind_of(port),
            )


def _check_proxy(www: Mapping[str, Any]) -> None:
    if not listening(www.get("port")).is_local:
        error(
            "www: RemoteUserAuth trusts a header that anybody can send to"
            f" {quoted(www.get('port'))}: let the port be 'unix:…', or listen on 127.0.0.1 alone"
            " ('tcp:8010:interface=127.0.0.1'), and the proxy remove that header from requests"
        )


def _check_google(www: Mapping[str, Any], *, alone: bool) -> None:
    """A name at Google is what stands before the @ of an address, with any domain."""
    for matcher in getattr(www.get("authz"), "roleMatchers", ()):
        if isinstance(matcher, RolesFromUsername) and (
            alone or any(str(name).endswith("@google") for name in matcher.usernames)
        ):
            error(
                "www: with GoogleAuth ann@example.org and ann@example.com have one name: give roles"
                " by RolesFromEmails"
            )
