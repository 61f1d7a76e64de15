"""An HTTP server that serves given collections, as a farm's REST interface does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes import web


class Collections:
    """`shown` maps a collection to its items, the newest first; `away` answers 503."""

    def __init__(self) -> None:
        self.shown: dict[str, list[dict[str, Any]]] = {}
        self.away = False
        self.url = ""

    @contextmanager
    def served(self) -> Iterator[Collections]:
        """Answer on a free port, within the block."""
        with web.served(_Handler, self) as url:
            self.url = f"{url}/"
            yield self


class _Handler(web.Handler):
    def do_GET(self) -> None:
        told: Collections = self.fake
        name = self.path.removeprefix("/api/v2/bench/")
        body = json.dumps({name: told.shown.get(name, [])}).encode()
        self.answer(503 if told.away else 200, body)
