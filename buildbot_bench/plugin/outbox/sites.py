"""The sites that hear of culprits: their interface, GitHub, Phabricator.

Buildbot's own GitHubStatusPush and GitHubCommentPush report builds; a culprit is found by a search,
whose commit was often built weeks before, so that no build of theirs stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import treq
from twisted.internet import defer, error
from twisted.web.client import ResponseFailed
from twisted.web.http_headers import Headers

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.legible import one_line
from buildbot_bench.workflow.notify import GitHub, Phabricator

TIMEOUT_S = 30.0

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
# What somebody may fix: GitHub does not even find what a token does not let it see, and a mirror
# may lag behind the commit.
_DENIED = frozenset({401, 403, 404})
_HINT = "it is kept and tried again; look at `notify` in bench.yml and at the token if this lasts"


class SiteRefusal(BenchError):  # noqa: N818 - an outcome that is recorded, not a fault
    """The site will never take this: what it is about is not there, or we may not write."""


class SiteDenial(InfraError):  # noqa: N818 - as SiteRefusal
    """The site does not let us, or does not know what it is about: it wants a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedCulprit:
    """A commit that made something worse: `line` says it in one, `markdown` is the whole report.

    `reviews` are the Phabricator reviews that its message names: D8526 is 8526. `repository` is
    what its branch has in front: empty of the first one.
    """

    sha: str
    reviews: Sequence[int]
    line: str
    markdown: str
    repository: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedNotice:
    """One thing to be said: `kind` begins with the site's key in bench.yml and a dash.

    `target` is what the site knows the culprit by; at most 24 characters of `kind` are kept.
    """

    kind: str
    target: str
    body: str


class SiteKind(Protocol):
    """What an entry point of `buildbot_bench.sites` names: a class, made of its settings.

    `SETTINGS` is a pydantic model (workflow.fields.Model) of what bench.yml says of it.
    """

    SETTINGS: ClassVar[type[Any]]

    def __call__(self, settings: Any) -> NotifiedSite:
        """The site as bench.yml has it."""


class NotifiedSite(Protocol):
    """One site of bench.yml: what it hears of a culprit, and by what."""

    @property
    def token_secret(self) -> str:
        """The name of the Buildbot secret that holds its token."""

    def notices(self, culprit: NamedCulprit) -> Sequence[WantedNotice]:
        """All that is to be said of a culprit."""

    async def say(self, notice: WantedNotice, *, token: str, page: str, mark: str) -> None:
        """Say it once: a site that has something with that mark at that target is left alone.

        `page` is the URL of the search's page. Raises InfraError for what may be taken later,
        SiteDenial for what may be when a person has seen to it, SiteRefusal for what never will.
        """


async def call(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: Json | None = None,
    form: Mapping[str, str] | None = None,
) -> Any:
    """The JSON that a site answers; nothing of the request, a token among it, is ever shown."""
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
    except (ValueError, RecursionError):
        raise InfraError(f"{site} does not answer with JSON", hint=_HINT) from None


def _words(text: str) -> str:
    try:
        return one_line(str(json.loads(text)["message"]))
    except (ValueError, RecursionError, KeyError, TypeError):
        return "no reason given"


# GitHub takes no longer description of a status.
_STATUS_COLUMNS = 140
# Statuses of one context replace each other.
_CONTEXT = "buildbot-bench"
_STATUS = "github-status"


class GitHubSite:
    """GitHub as bench.yml has it for the repository that the culprit is of."""

    SETTINGS = GitHub

    def __init__(self, settings: GitHub) -> None:
        self._settings = settings
        self.token_secret = settings.token_secret

    def notices(self, culprit: NamedCulprit) -> Sequence[WantedNotice]:
        """A status and a comment, as far as they are wanted."""
        return list(self._notices(culprit))

    async def say(self, notice: WantedNotice, *, token: str, page: str, mark: str) -> None:
        """Set the status again, which changes nothing; comment unless a comment has the mark.

        The link of a status is the search's page.
        """
        url = f"{self._settings.api.rstrip('/')}/repos/{self._settings.repository}"
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "User-Agent": "buildbot-bench",
        }
        if notice.kind == _STATUS:
            status = {"state": "failure", "context": _CONTEXT, "target_url": page}
            described = {"description": one_line(notice.body, columns=_STATUS_COLUMNS)}
            await call("POST", f"{url}/statuses/{notice.target}", headers, status | described)
            return
        comments = f"{url}/commits/{notice.target}/comments"
        known = await call("GET", f"{comments}?per_page=100", headers)
        if not any(mark in str(comment.get("body")) for comment in known):
            await call("POST", comments, headers, {"body": f"{notice.body}\n<!-- {mark} -->\n"})

    def _notices(self, culprit: NamedCulprit) -> Iterator[WantedNotice]:
        if self._settings.status:
            yield WantedNotice(kind=_STATUS, target=culprit.sha, body=culprit.line)
        if self._settings.comment:
            yield WantedNotice(kind="github-comment", target=culprit.sha, body=culprit.markdown)


class PhabricatorSite:
    """Phabricator as bench.yml has it."""

    SETTINGS = Phabricator

    def __init__(self, settings: Phabricator) -> None:
        self._settings = settings
        self.token_secret = settings.token_secret

    def notices(self, culprit: NamedCulprit) -> Sequence[WantedNotice]:
        """A comment on each review."""
        return [
            WantedNotice(kind="phabricator-comment", target=f"D{number}", body=culprit.markdown)
            for number in culprit.reviews
        ]

    async def say(self, notice: WantedNotice, *, token: str, page: str, mark: str) -> None:
        """Comment by Conduit, unless a comment there has the mark.

        Source: https://secure.phabricator.com/conduit/.
        """
        del page
        target = {"objectIdentifier": notice.target}
        known = await self._conduit(token, "transaction.search", target)
        if mark in json.dumps(known.get("data", [])):
            return
        comment = {"type": "comment", "value": f"{notice.body}\n({mark})\n"}
        wanted = target | {"transactions": [comment]}
        await self._conduit(token, "differential.revision.edit", wanted)

    async def _conduit(self, token: str, method: str, parameters: Json) -> Json:
        form = {
            "api.token": token,
            **{name: _encoded(value) for name, value in _flat(parameters)},
        }
        site = self._settings.site
        answer = await call("POST", f"{site.rstrip('/')}/api/{method}", {}, form=form)
        if not isinstance(answer, dict):
            raise InfraError(f"{site} does not answer as Conduit does", hint=_HINT)
        if code := answer.get("error_code"):
            said = one_line(f"{code}: {answer.get('error_info')}")
            kind = SiteDenial if code == "ERR-INVALID-AUTH" else SiteRefusal
            raise kind(f"{site} takes no comment: {said}", hint=_HINT)
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
