"""A report is put where a change is reviewed, which options or a job's environment name.

Each is asked by its documented REST interface. Where comments can be changed, ours is changed in
place: it is known by a mark in its first line and by its author.
"""

import argparse
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from buildbot_bench.cli.console import ExitStatus, say
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import one_line, quoted

_TIMEOUT = httpx.Timeout(30.0)
_A_PAGE, _MOST_PAGES = 100, 30  # comments of a page, at most so many as the sites give; pages
_ACTIONS = "github-actions[bot]"  # whom a workflow's own token speaks for; it may not ask GET /user
_GERRIT_GUARD = ")]}'"  # before all JSON of Gerrit, see "Output Format" of its REST API


@dataclass(frozen=True, kw_only=True, slots=True)
class _Site:
    """A site's REST interface; `headers` hold the token, which no message shows."""

    api: str
    headers: Mapping[str, str] = field(repr=False)

    def ask(
        self, method: str, path: str, body: object = None, form: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON that it answers; None for 401 and 403 of a GET, which a token may not see."""
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


def comment_on_github(
    api: str, token: str, repository: str, number: int, *, body: str, mark: str
) -> str:
    """Put a comment to a pull request of OWNER/NAME, in place of one with that mark: its address.

    Source: docs.github.com, REST API, "Issue comments".
    """
    site = _github_site(api, token)
    said = {"body": _marked(body, mark, 65_536)}
    me = (site.ask("GET", "user") or {}).get("login", _ACTIONS)
    issues = f"repos/{repository}/issues"
    rows = site.all(f"{issues}/{number}/comments")
    if ours := _ours(rows, mark, lambda row: (row.get("user") or {}).get("login") == me):
        made = site.ask("PATCH", f"{issues}/comments/{ours['id']}", said)
    else:
        made = site.ask("POST", f"{issues}/{number}/comments", said)
    return str(made.get("html_url", repository))


def comment_on_gitlab(
    api: str, token: str, project: str, number: int, *, body: str, mark: str
) -> str:
    """The same to a merge request; `project` is a number or path: docs.gitlab.com, Notes API."""
    site = _Site(api=api, headers={"PRIVATE-TOKEN": token})
    said = {"body": _marked(body, mark, 1_000_000)}
    me = (site.ask("GET", "user") or {}).get("id")
    request = f"projects/{quote(project, safe='')}/merge_requests/{number}"
    notes = f"{request}/notes"
    at = str((site.ask("GET", request) or {}).get("web_url", ""))
    if ours := _ours(site.all(notes), mark, lambda row: (row.get("author") or {}).get("id") == me):
        made = site.ask("PUT", f"{notes}/{ours['id']}", said)
    else:
        made = site.ask("POST", notes, said)
    return f"{at}#note_{made.get('id')}"


def comment_on_gerrit(
    url: str, login: tuple[str, str], change: int, patch_set: str, *, body: str, mark: str
) -> str:
    """Put a message to a patch set; the newest of a tag stands for the earlier ones.

    Source: gerrit-review.googlesource.com, "Set Review", and ReviewInput's `tag`.
    """
    top = url.rstrip("/")
    token = httpx.BasicAuth(*login)._auth_header  # noqa: SLF001 - for headers
    site = _Site(api=f"{top}/a", headers={"Authorization": token})
    message = _marked(body, mark, 16_384)
    said = {"message": message, "tag": f"autogenerated:{mark}", "notify": "OWNER"}
    site.ask("POST", f"changes/{change}/revisions/{quote(patch_set)}/review", said)
    return f"{top}/{change}"


def comment_on_phabricator(url: str, token: str, revision: int, *, body: str, mark: str) -> str:
    """Put a comment to a revision, where comments cannot be changed: each is another one.

    Source: Conduit's differential.revision.edit.
    """
    top = url.rstrip("/")
    text = _marked(body, mark, 100_000)
    form = {
        "api.token": token,
        "objectIdentifier": f"D{revision}",
        "transactions[0][type]": "comment",
        "transactions[0][value]": text.replace(_comment(mark), "").lstrip("\n"),
    }
    answer = _Site(api=f"{top}/api", headers={}).ask(
        "POST", "differential.revision.edit", form=form
    )
    if answer.get("error_code"):
        why = one_line(str(answer.get("error_info")), columns=200)
        raise InfraError(f"{url} refuses: {why}", hint="see the token and the revision")
    return f"{top}/D{revision}"


def _marked(body: str, mark: str, most: int) -> str:
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

    Source: docs.github.com, "List pull requests", `head`.
    """
    owner = str(((run.get("head_repository") or {}).get("owner") or {}).get("login", ""))
    head = quote(f"{owner}:{run.get('head_branch', '')}", safe="")
    site = _github_site(api, token)
    rows = site.ask("GET", f"repos/{repository}/pulls?state=open&head={head}") or []
    for row in rows:
        if (row.get("head") or {}).get("sha") == run.get("head_sha"):
            return int(row["number"])
    raise UsageError(
        "no open pull request ends with the commit that was measured",
        hint="it has newer commits or is closed: their own run comments on it",
    )


def _github_site(api: str, token: str) -> _Site:
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


_MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,40}")


def run(options: argparse.Namespace) -> ExitStatus:
    """Put the one report there."""
    if len(options.paths) != 1:
        raise UsageError("name one report", hint="as in `bench-comment report.md`")
    if not _NAME.fullmatch(options.name):
        raise UsageError(
            f"--name {quoted(options.name)} is no name",
            hint="a name has up to 41 letters, digits, dots, dashes or underscores",
        )
    body, mark = _read(options.paths[0]), f"buildbot-bench:{options.name}"
    sites = {"github": _github, "gitlab": _gitlab, "gerrit": _gerrit, "phabricator": _phabricator}
    put = sites[options.on or _host(os.environ)]
    say(f"the comment is at {put(options, os.environ, body, mark)}")
    return ExitStatus.ANSWERED


def _read(path: str) -> str:
    """The report; with a mention in it nobody is written to, and no picture is fetched."""
    try:
        with Path("/dev/stdin" if path == "-" else path).open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{quoted(path)} cannot be read: {error.strerror}") from error
    if len(raw) > _MOST_BYTES or not raw.strip():
        what = "is empty" if len(raw) <= _MOST_BYTES else "has more than 1 MiB"
        raise UsageError(f"{quoted(path)} {what}", hint="name what --markdown printed")
    text = raw.decode("utf-8", "replace").replace("\0", "")
    return text.replace("<!--", "<\u200b!--").replace("@", "@\u200b").replace("![", "!\u200b[")


def _host(environ: Mapping[str, str]) -> str:
    if environ.get("GITHUB_ACTIONS") == "true":
        return "github"
    if environ.get("GITLAB_CI") == "true":
        return "gitlab"
    if "GERRIT_CHANGE_NUMBER" in environ:
        return "gerrit"
    raise UsageError(
        "this is no job of GitHub, GitLab or Jenkins for Gerrit",
        hint="name the site by --on, --url and --change",
    )


def _github(options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str) -> str:
    api = options.url or environ.get("GITHUB_API_URL", "https://api.github.com")
    repository, token = _named(environ, "GITHUB_REPOSITORY"), _named(environ, "GITHUB_TOKEN")
    event = _event(environ)
    number = options.change or (event.get("pull_request") or {}).get("number")
    if not number:
        run = event.get("workflow_run")
        if not isinstance(run, dict):
            raise UsageError(
                "the event is of no pull request", hint="run it `on: pull_request`, or --change"
            )
        number = find_pull_request(api, token, repository, run)
    return comment_on_github(api, token, repository, int(number), body=body, mark=mark)


def _event(environ: Mapping[str, str]) -> dict[str, Any]:
    path = environ.get("GITHUB_EVENT_PATH", "")
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH {quoted(path)} cannot be read") from error
    return event if isinstance(event, dict) else {}


def _gitlab(options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str) -> str:
    project = environ.get("CI_MERGE_REQUEST_PROJECT_ID") or _named(environ, "CI_PROJECT_ID")
    api = options.url or _named(environ, "CI_API_V4_URL")
    number = options.change or _number(_named(environ, "CI_MERGE_REQUEST_IID"))
    return comment_on_gitlab(
        api, _named(environ, "BENCH_TOKEN"), project, number, body=body, mark=mark
    )


def _gerrit(options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str) -> str:
    url = options.url or _named(environ, "GERRIT_URL")
    change = options.change or _number(_named(environ, "GERRIT_CHANGE_NUMBER"))
    login = _named(environ, "BENCH_USER"), _named(environ, "BENCH_TOKEN")
    patch_set = environ.get("GERRIT_PATCHSET_REVISION", "current")
    return comment_on_gerrit(url, login, change, patch_set, body=body, mark=mark)


def _phabricator(
    options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str
) -> str:
    if not options.url or not options.change:
        raise UsageError("Phabricator needs --url and --change", hint="as in --change D8526")
    token = _named(environ, "BENCH_TOKEN")
    return comment_on_phabricator(options.url, token, options.change, body=body, mark=mark)


def _named(environ: Mapping[str, str], name: str) -> str:
    if value := environ.get(name):
        return value
    raise UsageError(f"{name} is not in the environment", hint="see `bench-comment --help`")


def _number(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise UsageError(f"{quoted(text)} is no number of a change")
