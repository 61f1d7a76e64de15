"""The security headers of each answer of the master's web server.

Buildbot sends none, and writes the user's name as the login site gives it into its page, unescaped.
The only scripts that run are files of the master's own, or known here by their digest.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Any

from buildbot.util.twisted import async_to_deferred
from buildbot.www.config import IndexResource
from twisted.web.resource import IResource
from twisted.web.server import Site
from zope.interface import implementer

POLICY = b"content-security-policy"
# The page that Buildbot serves has its configuration in a script of its own.
_CONFIGURATION = re.compile(rb'<script id="bb-config">(.*?)</script>', re.DOTALL)
# Buildbot's pages set styles on elements; pictures of people come from where they have them.
_REST = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:;"
    " font-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self';"
    " frame-ancestors 'none'"
)
_OTHERS = {
    b"x-content-type-options": b"nosniff",
    # Buildbot refuses what changes something and does not say from which page: no "no-referrer".
    b"referrer-policy": b"same-origin",
}


def source_of(script: bytes) -> str:
    """A script as a policy names it that lets it run: by its SHA-256."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def policy(scripts: Iterable[bytes] = ()) -> bytes:
    """The policy of a page with these scripts within it."""
    return (
        " ".join(["script-src 'self'", *map(source_of, scripts)]).encode() + b"; " + _REST.encode()
    )


def guard(site: Site, master: Any) -> None:
    """Have a master's site send these headers from now on; no answer is without them.

    Call it again whenever the master is configured: its page tells of the configuration.
    """
    if not isinstance(site.resource, _Guarded):
        site.resource = _Guarded(site.resource)
    www = master.www
    page = _Index(master, www.apps.get(www.base_plugin_name).static_dir)
    page.reconfigResource(master.config)
    site.resource.index = page


@implementer(IResource)
class _Guarded:
    """The root of a site, whose answers get headers; one that needs another policy sets its own."""

    isLeaf = False

    def __init__(self, root: Any) -> None:
        self._root = root
        self.index: _Index | None = None

    def getChildWithDefault(self, name: bytes, request: Any) -> Any:
        """The resource of that name, after the headers are set."""
        request.setHeader(POLICY, policy())
        for header, value in _OTHERS.items():
            request.setHeader(header, value)
        if name == b"" and not request.postpath:
            return self.index
        return self._root.getChildWithDefault(name, request)

    def putChild(self, path: bytes, child: Any) -> None:
        """As the root takes it."""
        self._root.putChild(path, child)

    def render(self, request: Any) -> Any:
        """Nobody asks for it: each path has a name, be it an empty one."""
        return self._root.render(request)


class _Index(IndexResource):
    """Buildbot's page, whose policy lets the script run that holds its configuration."""

    needsReconfig = False  # Buildbot keeps no account of resources that come after its own

    @async_to_deferred
    async def renderIndex(self, request: Any) -> bytes:
        body: bytes = await super().renderIndex(request)
        # The first: what a name holds comes behind its beginning.
        request.setHeader(POLICY, policy(_CONFIGURATION.findall(body)[:1]))
        return body
