"""An HTTP server on this machine, and a handler that answers for a fake and logs nothing."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.0, so that no connection outlives its request."""

    @property
    def fake(self) -> Any:
        """What `served` was given: the state that requests read and change."""
        return self.server.fake  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def sent(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def answer(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole response."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Files(SimpleHTTPRequestHandler):
    """The files of a directory, which `functools.partial` names."""

    log_message = Handler.log_message


@contextmanager
def served(handler: Callable[..., Any], fake: Any = None, *, port: int = 0) -> Iterator[str]:
    """Serve until the context ends; give the URL, which ends without a slash."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    server.fake = fake  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
