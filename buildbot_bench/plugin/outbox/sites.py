"""Says of a culprit on GitHub and on Phabricator what it is given; it composes and repeats nothing.

Buildbot's own GitHubStatusPush and GitHubCommentPush report builds; a culprit is found by a search,
whose commit was often built weeks before, so that no build of theirs stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import treq
from twisted.internet import defer, error
from twisted.web.client import ResponseFailed
from twisted.web.http_headers import Headers

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.core.legible import one_line

TIMEOUT_S = 30.0
# GitHub takes no longer description of a status.
STATUS_COLUMNS = 140
# Statuses of one context replace each other.
CONTEXT = "buildbot-bench"

_NO_ANSWER = (
    defer.CancelledError,
    defer.TimeoutError,
    error.TimeoutError,
    error.ConnectError,
    error.ConnectionLost,
    error.ConnectionDone,
    error.DNSLookupError,
    ResponseFailed,
)
_LATER = frozenset({408, 425, 429})
# What somebody may mend: GitHub does not even find what a token does not let it see, and a mirror
# may lag behind the commit.
_DENIED = frozenset({401, 403, 404})
_HINT = "it is kept and tried again; look at `notify` in bench.yml and at the token if this lasts"

Json = dict[str, Any]


class SiteRefusal(BenchError):  # noqa: N818 - an outcome that is recorded, not a fault
    """The site will never take this: what it is about is not there, or we may not write."""


class SiteDenial(InfraError):  # noqa: N818 - as SiteRefusal
    """The site does not let us, or does not know what it is about: it wants a person."""


class Site(Protocol):
    """Something that is told of a culprit."""

    async def say(self, target: str, body: str, *, mark: str) -> None:
        """Say it once: a site that has something with that mark at that target is left alone.

        Raises InfraError for what may be taken later, SiteDenial for what may be when a person
        has seen to it, SiteRefusal for what never will.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class GitHubStatus:
    """The status of a commit, whose link is the search's page."""

    api: str
    repository: str
    token: str
    page: str

    async def say(self, target: str, body: str, *, mark: str) -> None:
        """Set it; the same one again changes nothing that anybody sees."""
        url = f"{self.api.rstrip('/')}/repos/{self.repository}/statuses/{target}"
        status = {"state": "failure", "context": CONTEXT, "target_url": self.page}
        described = one_line(body, columns=STATUS_COLUMNS)
        await _call("POST", url, _github(self.token), status | {"description": described})


@dataclass(frozen=True, kw_only=True, slots=True)
class GitHubComment:
    """A comment on a commit."""

    api: str
    repository: str
    token: str

    async def say(self, target: str, body: str, *, mark: str) -> None:
        """Comment, unless a comment there has the mark."""
        url = f"{self.api.rstrip('/')}/repos/{self.repository}/commits/{target}/comments"
        headers = _github(self.token)
        known = await _call("GET", f"{url}?per_page=100", headers)
        if any(mark in str(comment.get("body")) for comment in known):
            return
        await _call("POST", url, headers, {"body": f"{body}\n<!-- {mark} -->\n"})


@dataclass(frozen=True, kw_only=True, slots=True)
class PhabricatorComment:
    """A comment on a review, by Conduit: https://secure.phabricator.com/conduit/."""

    site: str
    token: str

    async def say(self, target: str, body: str, *, mark: str) -> None:
        """Comment, unless a comment there has the mark."""
        known = await self._conduit("transaction.search", {"objectIdentifier": target})
        if mark in json.dumps(known.get("data", [])):
            return
        comment = {"type": "comment", "value": f"{body}\n({mark})\n"}
        wanted = {"objectIdentifier": target, "transactions": [comment]}
        await self._conduit("differential.revision.edit", wanted)

    async def _conduit(self, method: str, parameters: Json) -> Json:
        form = {
            "api.token": self.token,
            **{name: _encoded(value) for name, value in _flat(parameters)},
        }
        answer = await _call("POST", f"{self.site.rstrip('/')}/api/{method}", {}, form=form)
        if not isinstance(answer, dict):
            raise InfraError(f"{self.site} does not answer as Conduit does", hint=_HINT)
        if code := answer.get("error_code"):
            said = one_line(f"{code}: {answer.get('error_info')}")
            kind = SiteDenial if code == "ERR-INVALID-AUTH" else SiteRefusal
            raise kind(f"{self.site} takes no comment: {said}", hint=_HINT)
        return answer.get("result") or {}


def _flat(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """A nested value as Conduit takes it in a form: `transactions[0][type]`."""
    match value:
        case dict():
            inner = value.items()
        case list():
            inner = dict(enumerate(value)).items()
        case _:
            return [(name, value)]
    return [
        pair for key, one in inner for pair in _flat(one, f"{name}[{key}]" if name else str(key))
    ]


def _encoded(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _github(token: str) -> Mapping[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "User-Agent": "buildbot-bench",
    }


async def _call(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: Json | None = None,
    form: Mapping[str, str] | None = None,
) -> Any:
    """The JSON that a site answers; nothing of the request, a token among it, is ever told."""
    site = url.partition("?")[0]
    content = {"json": body} if form is None else {"data": dict(form)}
    try:
        response = await treq.request(
            method,
            url,
            headers=dict(headers),
            timeout=TIMEOUT_S,
            allow_redirects=False,  # another host would get the token
            persistent=False,  # a kept connection that has died meanwhile fails a POST
            **(content if method == "POST" else {}),
        )
        text = await response.text("utf-8")
    except _NO_ANSWER as reason:
        raise InfraError(f"{site} does not answer: {type(reason).__name__}", hint=_HINT) from None
    if response.code >= 500 or response.code in _LATER or _throttled(response.headers):
        raise InfraError(f"{site} answers HTTP {response.code}", hint=_HINT)
    if response.code in _DENIED:
        raise SiteDenial(f"{site} answers HTTP {response.code}: {_words(text)}"[:400], hint=_HINT)
    if not 200 <= response.code < 300:
        raise SiteRefusal(f"{site} answers HTTP {response.code}: {_words(text)}"[:400])
    return _json(text, site)


def _throttled(headers: Headers) -> bool:
    """Whether it was one request too many, which GitHub calls forbidden."""
    return headers.hasHeader("retry-after") or headers.getRawHeaders("x-ratelimit-remaining") == [
        "0"
    ]


def _json(text: str, site: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise InfraError(f"{site} does not answer with JSON", hint=_HINT) from None


def _words(text: str) -> str:
    try:
        return one_line(str(json.loads(text)["message"]))
    except (ValueError, KeyError, TypeError):
        return "no reason given"


def no_token(name: str) -> SiteDenial:
    """What to say when the secret that bench.yml names is not there."""
    return SiteDenial(
        f"there is no secret {name!r}", hint="write the token into that file in secrets/"
    )
