"""An HTTP server that serves given collections, as a farm's REST interface does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Collections:
    """`shown` maps a collection to its items, the newest first; `away` answers 503."""

    def __init__(self) -> None:
        self.shown: dict[str, list[dict[str, Any]]] = {}
        self.away = False
        self.url = ""

    @contextmanager
    def served(self) -> Iterator[Collections]:
        """Answer on a free port, within the block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.collections = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{server.server_address[1]}/"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        told: Collections = self.server.collections  # type: ignore[attr-defined]
        name = self.path.removeprefix("/api/v2/bench/")
        body = json.dumps({name: told.shown.get(name, [])}).encode()
        self.send_response(503 if told.away else 200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""
