"""Buildbot's REST root, except that what it cannot read is refused; it knows no resource.

Buildbot 4.3 answers 500, as if the master were at fault, when a path or a query is no UTF-8 or
names an empty field.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from buildbot.data.exceptions import InvalidPathError, InvalidQueryParameter
from buildbot.www.rest import RestRootResource, V2RootResource

_VERSION = 2


class ReadableRoot(V2RootResource):
    """The second version of the interface, as Buildbot has it."""

    def getEndpoint(self, request: Any, method: str, params: dict[str, Any]) -> Any:
        """As Buildbot finds it; a path that is no text leads nowhere."""
        if not _is_text(request.postpath):
            raise InvalidPathError("Invalid path: it is no UTF-8")
        return super().getEndpoint(request, method, params)

    def decodeResultSpec(self, request: Any, endpoint: Any) -> Any:
        """As Buildbot reads it; a query that is no text asks for nothing."""
        for name, values in request.args.items():
            if not _is_text([name, *values]):
                raise InvalidQueryParameter("the query is no UTF-8")
            if name in {b"order", b"field"} and b"" in values:
                raise InvalidQueryParameter(f"{name.decode()}= names no field")
        return super().decodeResultSpec(request, endpoint)


def install() -> None:
    """Have Buildbot serve this root; it takes it up when it sets up its web server."""
    RestRootResource.addApiVersion(_VERSION, ReadableRoot)


def _is_text(parts: Iterable[bytes]) -> bool:
    try:
        b"/".join(parts).decode()
    except UnicodeDecodeError:
        return False
    return True
