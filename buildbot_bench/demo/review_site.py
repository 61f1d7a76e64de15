"""A review site on this machine, which serves patches as Phabricator does.

`GET /D8526?download=true` gives the file D8526.diff of its directory.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_REVIEW = re.compile(r"/(D[1-9][0-9]{0,6})\?download=true", re.ASCII)
_PATIENCE_S = 30.0  # for a question that does not come to its end


@contextmanager
def review_site(patches: Path) -> Iterator[str]:
    """Serve a directory's reviews to this machine, on a port of its own; gives the site's URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Reviews, patches))
    threading.Thread(target=server.serve_forever, name="review site", daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Reviews(BaseHTTPRequestHandler):
    timeout = _PATIENCE_S

    def __init__(self, patches: Path, *args: Any) -> None:
        self._patches = patches
        super().__init__(*args)

    def do_GET(self) -> None:
        """Answer with a review's patch; 404 for all else."""
        match = _REVIEW.fullmatch(self.path)
        file = self._patches / f"{match[1]}.diff" if match else None
        if file is None or not file.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        body = file.read_bytes()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: this is somebody's terminal."""
