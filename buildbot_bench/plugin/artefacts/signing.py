"""The authorization of requests to artefact servers: bearer tokens and S3 signatures.

The signature is "AWS Signature Version 4", as Amazon S3's API reference gives it under
"Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk".
It is our own. Tried: asigv4 0.1 and auth-aws4 0.1 sign Amazon's example otherwise than Amazon does;
aws-request-signer 1.2, csig 0.1 and botocore (30 MB, with python-dateutil below 3) read the clock
themselves, so that the example cannot test them; awscrt is a binary of 12 MB.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import urlsplit

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.artefacts.http import Authorise, HttpPlace
from buildbot_bench.plugin.artefacts.place import Place

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
