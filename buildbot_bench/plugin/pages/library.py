"""The charting library uPlot as a module for the browser, served from its Python package.

The library has a digest in its name, so that browsers may keep it for ever; `chart.js` keeps its
name and says where the library is.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from twisted.web.resource import Resource

from buildbot_bench.core.errors import UsageError

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
