"""The places where a proposed change is discussed: GitHub, GitLab, Gerrit, Phabricator.

Each is asked by its documented REST interface. Where comments can be changed, ours is changed in
place: it is known by a mark in its first line and by its author.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import one_line

_TIMEOUT = httpx.Timeout(30.0)
_A_PAGE, _MOST_PAGES = 100, 30  # comments of a page, at most so many as the sites give; pages
_ACTIONS = "github-actions[bot]"  # whom a workflow's own token speaks for; it may not ask GET /user
_GERRIT_GUARD = ")]}'"  # before all JSON of Gerrit, see "Output Format" of its REST API


class ReviewSite(Protocol):
    """One change under review."""

    @property
    def most(self) -> int:
        """Characters of the longest comment that the site takes."""

    def comment(self, body: str, mark: str) -> str:
        """Put a comment there, in place of an earlier one with that mark; where it can be read.

        Raises InfraError: the site does not answer, or refuses.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class _Site:
    """A site's REST interface; `headers` hold the token, which no message shows."""

    api: str
    headers: Mapping[str, str] = field(repr=False)

    def ask(
        self, method: str, path: str, body: object = None, form: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON that it answers; None for 401 and 403 of a GET, which a token may not see.

        Raises InfraError: it does not answer, or refuses.
        """
        url = f"{self.api.rstrip('/')}/{path}"
        sent = {} if body is None else {"json": body}
        try:
            response = httpx.request(
                method,
                url,
                headers=dict(self.headers),
                timeout=_TIMEOUT,
                follow_redirects=False,  # another host would get the token
                **({"data": form} if form is not None else sent),
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InfraError(f"{url} does not answer: {type(error).__name__}") from None
        if method == "GET" and response.status_code in {401, 403}:
            return None
        if not response.is_success:
            hint = "see which rights the token needs: docs/how-to/ci.md"
            said = one_line(response.text, columns=200)
            raise InfraError(f"{url} answers HTTP {response.status_code}: {said}", hint=hint)
        try:
            return json.loads(response.text.removeprefix(_GERRIT_GUARD) or "null")
        except (ValueError, RecursionError):
            raise InfraError(f"{url} does not answer with JSON") from None

    def all(self, path: str) -> Iterator[Mapping[str, Any]]:
        """What a list has, page by page."""
        for page in range(1, _MOST_PAGES + 1):
            rows = self.ask("GET", f"{path}?per_page={_A_PAGE}&page={page}") or []
            yield from (row for row in rows if isinstance(row, dict))
            if len(rows) < _A_PAGE:
                return


@dataclass(frozen=True, kw_only=True, slots=True)
class GitHubPullRequest:
    """A pull request of GitHub; `repository` is OWNER/NAME.

    Source: docs.github.com, REST API, "Issue comments".
    """

    api: str
    repository: str
    number: int
    token: str = field(repr=False)
    most: int = 65_536

    def comment(self, body: str, mark: str) -> str:
        """As the protocol says."""
        site = _github(self.api, self.token)
        me = (site.ask("GET", "user") or {}).get("login", _ACTIONS)
        issues = f"repos/{self.repository}/issues"
        rows = site.all(f"{issues}/{self.number}/comments")
        if ours := _ours(rows, mark, lambda row: (row.get("user") or {}).get("login") == me):
            made = site.ask("PATCH", f"{issues}/comments/{ours['id']}", {"body": body})
        else:
            made = site.ask("POST", f"{issues}/{self.number}/comments", {"body": body})
        return str(made.get("html_url", self.repository))


@dataclass(frozen=True, kw_only=True, slots=True)
class GitLabMergeRequest:
    """A merge request of GitLab; `project` is its number or path.

    Source: docs.gitlab.com, "Notes API".
    """

    api: str
    project: str
    number: int
    token: str = field(repr=False)
    most: int = 1_000_000

    def comment(self, body: str, mark: str) -> str:
        """As the protocol says."""
        site = _Site(api=self.api, headers={"PRIVATE-TOKEN": self.token})
        me = (site.ask("GET", "user") or {}).get("id")
        request = f"projects/{quote(self.project, safe='')}/merge_requests/{self.number}"
        notes = f"{request}/notes"
        at = str((site.ask("GET", request) or {}).get("web_url", ""))
        if ours := _ours(
            site.all(notes), mark, lambda row: (row.get("author") or {}).get("id") == me
        ):
            made = site.ask("PUT", f"{notes}/{ours['id']}", {"body": body})
        else:
            made = site.ask("POST", notes, {"body": body})
        return f"{at}#note_{made.get('id')}"


@dataclass(frozen=True, kw_only=True, slots=True)
class GerritChange:
    """A patch set of Gerrit, whose newest message of a tag stands for the earlier ones.

    Source: gerrit-review.googlesource.com, "Set Review", and ReviewInput's `tag`.
    """

    url: str
    change: int
    patch_set: str
    user: str
    password: str = field(repr=False)
    most: int = 16_384

    def comment(self, body: str, mark: str) -> str:
        """As the protocol says."""
        token = httpx.BasicAuth(self.user, self.password)._auth_header  # noqa: SLF001 - for headers
        site = _Site(api=f"{self.url.rstrip('/')}/a", headers={"Authorization": token})
        said = {"message": body, "tag": f"autogenerated:{mark}", "notify": "OWNER"}
        site.ask("POST", f"changes/{self.change}/revisions/{quote(self.patch_set)}/review", said)
        return f"{self.url.rstrip('/')}/{self.change}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PhabricatorRevision:
    """A revision of Phabricator, whose comments cannot be changed: each is another one.

    Source: Conduit's differential.revision.edit.
    """

    url: str
    revision: int
    token: str = field(repr=False)
    most: int = 100_000

    def comment(self, body: str, mark: str) -> str:
        """As the protocol says."""
        site = _Site(api=f"{self.url.rstrip('/')}/api", headers={})
        form = {
            "api.token": self.token,
            "objectIdentifier": f"D{self.revision}",
            "transactions[0][type]": "comment",
            "transactions[0][value]": body.replace(_comment(mark), "").lstrip("\n"),
        }
        answer = site.ask("POST", "differential.revision.edit", form=form)
        if answer.get("error_code"):
            why = one_line(str(answer.get("error_info")), columns=200)
            raise InfraError(f"{self.url} refuses: {why}", hint="see the token and the revision")
        return f"{self.url.rstrip('/')}/D{self.revision}"


def marked(body: str, mark: str, most: int) -> str:
    """A comment that is known again, cut where a folded block begins if it is too long."""
    whole = f"{_comment(mark)}\n{body}"
    if len(whole) <= most:
        return whole
    told = "\n\nThe job's log has the rest.\n"
    room = whole[: most - len(told)]
    cut = max(room.rfind("\n<details"), 0) or room.rfind("\n")
    return room[:cut] + told


def find_pull_request(api: str, token: str, repository: str, run: Mapping[str, Any]) -> int:
    """The open pull request whose newest commit a `workflow_run` tested; forks' are not in it.

    Raises UsageError: there is none, or it has gone on. Source: docs.github.com, "List pull
    requests", `head`.
    """
    owner = str(((run.get("head_repository") or {}).get("owner") or {}).get("login", ""))
    head = quote(f"{owner}:{run.get('head_branch', '')}", safe="")
    site = _github(api, token)
    rows = site.ask("GET", f"repos/{repository}/pulls?state=open&head={head}") or []
    for row in rows:
        if (row.get("head") or {}).get("sha") == run.get("head_sha"):
            return int(row["number"])
    raise UsageError(
        "no open pull request ends with the commit that was measured",
        hint="it has newer commits or is closed: their own run comments on it",
    )


def _github(api: str, token: str) -> _Site:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    return _Site(api=api, headers={**headers, "X-GitHub-Api-Version": "2022-11-28"})


def _comment(mark: str) -> str:
    return f"<!-- {mark} -->"


def _ours(
    rows: Iterable[Mapping[str, Any]], mark: str, is_mine: Callable[[Mapping[str, Any]], bool]
) -> Mapping[str, Any] | None:
    """The comment that has the mark and is of our own; others may write a mark, too."""
    found = (row for row in rows if str(row.get("body")).startswith(_comment(mark)))
    return next(filter(is_mine, found), None)
