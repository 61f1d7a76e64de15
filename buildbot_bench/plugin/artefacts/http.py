"""Artefacts on a server that takes PUT, GET, HEAD and DELETE, and the requests' signatures.

The signature is "AWS Signature Version 4", as Amazon S3's API reference gives it under
"Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk".
It is our own. Tried: asigv4 0.1 and auth-aws4 0.1 sign Amazon's example otherwise than Amazon does;
aws-request-signer 1.2, csig 0.1 and botocore (30 MB, with python-dateutil below 3) read the clock
themselves, so that the example cannot test them; awscrt is a binary of 12 MB.
"""

import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

import treq
from twisted.internet import defer, error, reactor
from twisted.internet.task import deferLater
from twisted.web.client import RequestNotSent, RequestTransmissionFailed, ResponseFailed

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.artefacts.place import Artefact, ArtefactMissingError, Place

# A kernel with its modules, some hundred megabytes, over a line of 1 Mbit/s.
TRANSFER_S = 3600.0
# A server that is restarted is back within these; a build of an hour is not given up before.
PAUSES_S = (1.0, 5.0, 15.0)

_NO_ANSWER = (
    defer.CancelledError,
    error.TimeoutError,
    error.ConnectError,
    error.ConnectionLost,
    error.ConnectionDone,
    error.DNSLookupError,
    ResponseFailed,
    RequestNotSent,
    RequestTransmissionFailed,
)
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})

# The headers that let a request through: of its method, its URL and the SHA-256 of its body.
Authorise = Callable[[str, str, str], Awaitable[Mapping[str, str]]]
T = TypeVar("T")


class _TryAgainError(InfraError):
    """What may be otherwise in a moment."""


class HttpPlace:
    """A `Place` under a URL: each artefact is the URL, a slash and its digest.

    Redirects are not followed: what lets us in is shown to no other server.
    """

    def __init__(
        self,
        url: str,
        authorise: Authorise,
        *,
        pauses_s: tuple[float, ...] = PAUSES_S,
        timeout_s: float = TRANSFER_S,
    ) -> None:
        self._url = url.rstrip("/")
        self._authorise = authorise
        self._pauses_s = pauses_s
        self._timeout_s = timeout_s

    async def put(self, file: Path, artefact: Artefact) -> None:
        """Send the file, unless the server has it whole."""

        async def send() -> None:
            if await self._size(artefact.digest) == artefact.size:
                return
            with file.open("rb") as body:
                response = await self._ask("PUT", artefact.digest, artefact.digest, data=body)
            if not 200 <= response.code < 300:
                raise self._refusal("PUT", artefact.digest, response.code)

        await self._patiently(send)

    async def get(self, digest: str, file: Path) -> None:
        """Receive an artefact; what arrived of a broken answer is begun anew."""

        async def receive() -> None:
            response = await self._ask("GET", digest)
            if response.code != 200:
                raise self._refusal("GET", digest, response.code)
            with file.open("wb") as target:
                body = treq.collect(response, lambda piece: _write(target, piece))
                await self._within(body.addTimeout(self._timeout_s, reactor), "GET", digest)

        await self._patiently(receive)

    async def size(self, digest: str) -> int | None:
        """What the server says of its length."""
        return await self._patiently(lambda: self._size(digest))

    async def delete(self, digest: str) -> None:
        """Have it deleted; one that is not there is no fault."""

        async def remove() -> None:
            response = await self._ask("DELETE", digest)
            if not 200 <= response.code < 300 and response.code not in {404, 410}:
                raise self._refusal("DELETE", digest, response.code)

        await self._patiently(remove)

    async def _size(self, digest: str) -> int | None:
        response = await self._ask("HEAD", digest)
        if response.code in {404, 410}:
            return None
        if response.code != 200:
            raise self._refusal("HEAD", digest, response.code)
        length = response.headers.getRawHeaders("content-length") or [""]
        return int(length[0]) if length[0].isdigit() else None

    async def _ask(self, method: str, digest: str, body_digest: str = "", **body: Any) -> Any:
        url = f"{self._url}/{digest}"
        headers = await self._authorise(method, url, body_digest)
        response = treq.request(
            method,
            url,
            headers=dict(headers),
            timeout=self._timeout_s,
            unbuffered=True,
            allow_redirects=False,
            persistent=False,  # one that the server has closed meanwhile would swallow a PUT
            **body,
        )
        return await self._within(response, method, digest)

    async def _within(self, answer: defer.Deferred[Any], method: str, digest: str) -> Any:
        try:
            return await answer
        except _NO_ANSWER as reason:
            causes = [failure.value for failure in getattr(reason, "reasons", ())] or [reason]
            why = str(causes[0]) or type(causes[0]).__name__
            raise _TryAgainError(f"{method} {self._url}/{digest[:12]}: {why}") from reason

    # By tenacity this is longer (retry, wait, stop, sleep, reraise) and must have a pause.
    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        for pause_s in self._pauses_s:
            try:
                return await work()
            except _TryAgainError:
                await deferLater(reactor, pause_s, lambda: None)
        return await work()

    def _refusal(self, method: str, digest: str, code: int) -> InfraError:
        said = f"{self._url} answers {method} of artefact {digest[:12]} with HTTP {code}"
        if method == "GET" and code in {404, 410}:
            return ArtefactMissingError(said)
        if code in _TRY_AGAIN:
            return _TryAgainError(said)
        hint = "look at artefacts.token-secret" if code in {401, 403} else ""
        return InfraError(said, hint=hint)


def _write(file: BinaryIO, piece: bytes) -> None:
    file.write(piece)


# The secret's value when a request is made: its file may change while the farm runs.
Secret = Callable[[], Awaitable[str | None]]

_NOTHING = sha256(b"").hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Keys:
    """Who signs, for the servers of which region."""

    access: str
    secret: str
    region: str


def bearer(secret: Secret) -> Authorise:
    """HTTP's `Authorization: Bearer`; nothing when there is no secret."""

    async def authorise(_method: str, _url: str, _body_digest: str) -> Mapping[str, str]:
        token = await secret()
        return {} if token is None else {"Authorization": f"Bearer {token.strip()}"}

    return authorise


def s3_signature(secret: Secret, region: str) -> Authorise:
    """S3's signature; the secret is `ACCESS-KEY:SECRET-KEY`.

    The digest of the body is a part of it: the server refuses an artefact that was damaged on
    its way.
    """

    async def authorise(method: str, url: str, body_digest: str) -> Mapping[str, str]:
        access, colon, key = (await secret() or "").strip().partition(":")
        if not colon:
            raise InfraError("the secret of the artefacts' place is not ACCESS-KEY:SECRET-KEY")
        keys = Keys(access=access, secret=key, region=region)
        return signed(method, url, body_digest or _NOTHING, keys, datetime.now(UTC))

    return authorise


def signed(method: str, url: str, body_digest: str, keys: Keys, at: datetime) -> Mapping[str, str]:
    """The headers of a request that S3 takes; path and query of the URL need no quoting."""
    parts, second = urlsplit(url), f"{at:%Y%m%dT%H%M%SZ}"
    headers = {"host": parts.netloc, "x-amz-content-sha256": body_digest, "x-amz-date": second}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = f"{method}\n{parts.path}\n{parts.query}\n{lines}\n{names}\n{body_digest}"
    scope = [second[:8], keys.region, "s3", "aws4_request"]
    key = f"AWS4{keys.secret}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    digest = sha256(request.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", second, "/".join(scope), digest])
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return {
        "X-Amz-Content-SHA256": body_digest,
        "X-Amz-Date": second,
        "Authorization": f"AWS4-HMAC-SHA256 Credential={keys.access}/{'/'.join(scope)}, "
        f"SignedHeaders={names}, Signature={signature}",
    }


_S3 = re.compile(r"s3\+(https?://.+)")


def place_at(url: str | None, *, secret: Secret, region: str) -> Place | None:
    """The place at `https://…`, or `s3+https://HOST/BUCKET…`; None for the master's disk."""
    if url is None:
        return None
    if match := _S3.fullmatch(url):
        return HttpPlace(match[1], s3_signature(secret, region))
    return HttpPlace(url, bearer(secret))
