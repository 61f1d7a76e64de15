"""A server for artefacts over real HTTP, which checks authorization and fails on request.

With `s3_keys` it wants S3's signature, which it computes by itself as Amazon's "Signature
Calculations for the Authorization Header: Transferring Payload in a Single Chunk" says.
"""

import hashlib
import hmac
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


@dataclass
class StoreServer:
    """`kept` is what lies there by its path; `trouble` is what the next requests are answered."""

    token: str | None = None
    s3_keys: tuple[str, str] | None = None
    kept: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    trouble: list[int | str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.store = self  # type: ignore[attr-defined]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    """HTTP/1.0: no connection outlives its request."""

    @property
    def _store(self) -> StoreServer:
        return self.server.store  # type: ignore[attr-defined,no-any-return]

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""

    def do_PUT(self) -> None:
        if self._refused():
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        claimed = self.headers.get("X-Amz-Content-SHA256")
        if claimed is not None and claimed != hashlib.sha256(body).hexdigest():
            self._answer(400)
            return
        self._store.kept[self.path] = body
        self._answer(201)

    def do_GET(self) -> None:
        if not self._refused():
            body = self._store.kept.get(self.path)
            self._answer(404 if body is None else 200, body or b"")

    do_HEAD = do_GET  # noqa: N815 - the base class's name

    def do_DELETE(self) -> None:
        if not self._refused():
            gone = self._store.kept.pop(self.path, None)
            self._answer(404 if gone is None else 204)

    def _refused(self) -> bool:
        """Whether the request is answered already: it may not be, or there is trouble."""
        self._store.asked.append(self.command)
        match self._store.trouble.pop(0) if self._store.trouble else None:
            case int(status):
                self._answer(status)
            case "hang up":
                self.close_connection = True
            case "break off":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"half")
            case _ if not self._may():
                self._answer(403)
            case _:
                return False
        return True

    def _may(self) -> bool:
        given = self.headers.get("Authorization", "")
        if self._store.s3_keys is not None:
            return self._signature(given) in given
        return self._store.token is None or given == f"Bearer {self._store.token}"

    def _signature(self, given: str) -> str:
        access, key = self._store.s3_keys or ("", "")
        fields = dict(part.strip().split("=", 1) for part in given.partition(" ")[2].split(","))
        user, day, region, service, end = fields["Credential"].split("/")
        if user != access:
            return "nobody's"
        names = fields["SignedHeaders"].split(";")
        assert {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names)
        headers = "".join(f"{name}:{self.headers[name].strip()}\n" for name in names)
        body_digest = self.headers["X-Amz-Content-SHA256"]
        request = "\n".join([self.command, self.path, "", headers, ";".join(names), body_digest])
        scope = f"{day}/{region}/{service}/{end}"
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["X-Amz-Date"], scope, digest])
        signing = f"AWS4{key}".encode()
        for part in (day, region, service, end):
            signing = hmac.digest(signing, part.encode(), "sha256")
        return hmac.new(signing, text.encode(), "sha256").hexdigest()

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
