"""Web resources: bodies made on request, the headers that guard them, and the chart library."""

import base64
import gzip
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

from buildbot.util.twisted import async_to_deferred
from buildbot.www.config import IndexResource
from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger
from twisted.web import server
from twisted.web.http import SERVICE_UNAVAILABLE
from twisted.web.resource import IResource, Resource
from twisted.web.server import Site
from zope.interface import implementer

from buildbot_bench.core.errors import NotYetError, UsageError
from buildbot_bench.plugin.farm.farm import RETRY_AFTER

_LOG = Logger()

KEEP_S = 5.0
"""Prometheus asks each 15 s, and a person who reloads a page sees no change within less."""
_MOST_KEPT = 32
Made = TypeVar("Made")


class SharedAnswers(Generic[Made]):
    """Answers by name, each made for all who ask within some seconds, and one at a time."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, Made]] = OrderedDict()
        self._one_at_a_time = DeferredLock()

    async def get(self, name: bytes, make: Callable[[], Awaitable[Made]]) -> Made:
        """The answer of that name: the one of the last seconds, else a new one."""
        answer: Made = await self._one_at_a_time.run(
            lambda: Deferred.fromCoroutine(self._get(name, make))
        )
        return answer

    async def _get(self, name: bytes, make: Callable[[], Awaitable[Made]]) -> Made:
        made_at, answer = self._kept.pop(name, (-KEEP_S, None))
        if answer is None or self._clock.seconds() - made_at >= KEEP_S:
            answer = await make()
            made_at = self._clock.seconds()
        self._kept[name] = made_at, answer
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return answer


class DeferredResource(Resource):
    """A page whose body is made when it is asked for; `body` also sets what headers it wants."""

    isLeaf = True

    def __init__(self, master: Any) -> None:
        super().__init__()
        self.master = master

    async def body(self, request: Any) -> bytes:
        """What is sent; nothing else is known of it here."""
        raise NotImplementedError

    def render_GET(self, request: Any) -> int:
        """Have it made, and send it unless nobody waits for it any more."""
        disconnected: list[object] = []
        request.notifyFinish().addErrback(disconnected.append)
        made = Deferred.fromCoroutine(self.body(request))
        made.addErrback(self._failed, request)
        made.addCallback(lambda body: None if disconnected else _send(request, body))
        made.addErrback(lambda failure: _LOG.failure("while a page was sent", failure=failure))
        return int(server.NOT_DONE_YET)

    def _failed(self, failure: Any, request: Any) -> bytes:
        """Say that it failed; why stands in the master's log alone, unless it succeeds later."""
        if failure.check(NotYetError):
            request.setResponseCode(SERVICE_UNAVAILABLE)
            request.setHeader(b"retry-after", RETRY_AFTER)
            request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            return f"{failure.value}\n".encode()
        _LOG.failure("while {page} was made", failure=failure, page=type(self).__name__)
        request.setResponseCode(500)
        return b""


def _send(request: Any, body: bytes) -> None:
    if body:
        request.write(body)
    request.finish()


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


PACKAGE = "uplot"
_DISTRIBUTION = "uplot-python"
_SCRIPT, _STYLE = "uPlot.iife.js", "uPlot.min.css"
_YEAR_S = 365 * 24 * 3600
_DIGITS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartLibrary:
    """A module that exports uPlot by default, and `style`: the text of its style sheet."""

    module: bytes
    compressed: bytes
    digest: str

    @property
    def name(self) -> str:
        """The file name under which it is served; another release has another one."""
        return f"uPlot-{self.digest}.js"


def chart_library(package: str = PACKAGE) -> ChartLibrary:
    """Read it from the installed package, which is not imported."""
    spec = find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place) / "static"
        try:
            script, style = ((folder / name).read_text("utf-8") for name in (_SCRIPT, _STYLE))
        except FileNotFoundError as missing:
            problem = f"the package {package} has no {missing.filename}"
            raise UsageError(problem, hint=_hint()) from missing
        return _library(script, style)
    raise UsageError(f"there is no Python package {package}, which has the charts", hint=_hint())


def _hint() -> str:
    return f"install it: pip install '{_DISTRIBUTION}>=1.1,<2'"


def _library(script: str, style: str) -> ChartLibrary:
    # The script sets a variable, which a module keeps for itself.
    module = f"{script}\nexport default uPlot;\nexport const style = {json.dumps(style)};\n"
    raw = module.encode()
    return ChartLibrary(
        module=raw,
        compressed=gzip.compress(raw, 9, mtime=0),
        digest=sha256(raw).hexdigest()[:_DIGITS],
    )


class LibraryPages(Resource):
    """`chart.js`, which says where the library is, and the library itself."""

    def __init__(self, library: ChartLibrary) -> None:
        super().__init__()
        where = f'export {{ default, style }} from "./{library.name}";\n'.encode()
        self.putChild(b"chart.js", _Module(where, cache="no-cache"))
        kept = f"public, max-age={_YEAR_S}, immutable"
        self.putChild(
            library.name.encode(), _Module(library.module, library.compressed, cache=kept)
        )


class _Module(Resource):
    isLeaf = True

    def __init__(self, text: bytes, compressed: bytes | None = None, *, cache: str) -> None:
        super().__init__()
        self._text, self._compressed, self._cache = text, compressed, cache.encode()

    def render_GET(self, request: Any) -> bytes:
        """The text, compressed for those who read that."""
        request.setHeader(b"content-type", b"text/javascript; charset=utf-8")
        request.setHeader(b"cache-control", self._cache)
        request.setHeader(b"vary", b"accept-encoding")
        if self._compressed is None:
            return self._text
        if b"gzip" not in (request.getHeader(b"accept-encoding") or b""):
            return self._text
        request.setHeader(b"content-encoding", b"gzip")
        return self._compressed
