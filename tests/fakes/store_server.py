"""A server for artefacts over real HTTP, which checks authorization and fails on request.

With `s3_keys` it wants S3's signature, which it computes by itself as Amazon's "Signature
Calculations for the Authorization Header: Transferring Payload in a Single Chunk" says.
"""

import hashlib
import hmac
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Self

from tests.fakes import web


@dataclass
class StoreServer:
    """`kept` is what lies there by its path; `trouble` is what the next requests are answered."""

    token: str | None = None
    s3_keys: tuple[str, str] | None = None
    kept: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    trouble: list[int | str] = field(default_factory=list)
    host: str = ""

    def __enter__(self) -> Self:
        self._served: AbstractContextManager[str] = web.served(_Handler, self)
        self.host = self._served.__enter__().removeprefix("http://")
        return self

    def __exit__(self, *_error: object) -> None:
        self._served.__exit__(None, None, None)


class _Handler(web.Handler):
    @property
    def _store(self) -> StoreServer:
        return self.fake  # type: ignore[no-any-return]

    def do_PUT(self) -> None:
        if self._refused():
            return
        body = self.sent()
        claimed = self.headers.get("X-Amz-Content-SHA256")
        if claimed is not None and claimed != hashlib.sha256(body).hexdigest():
            self.answer(400)
            return
        self._store.kept[self.path] = body
        self.answer(201)

    def do_GET(self) -> None:
        if not self._refused():
            body = self._store.kept.get(self.path)
            self.answer(404 if body is None else 200, body or b"")

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        if not self._refused():
            gone = self._store.kept.pop(self.path, None)
            self.answer(404 if gone is None else 204)

    def _refused(self) -> bool:
        """Whether the request is answered already: it may not be, or there is trouble."""
        self._store.asked.append(self.command)
        match self._store.trouble.pop(0) if self._store.trouble else None:
            case int(status):
                self.answer(status)
            case "hang up":
                self.close_connection = True
            case "break off":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"half")
            case _ if not self._may():
                self.answer(403)
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
