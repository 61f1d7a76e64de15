"""Notices of culprits on GitHub: the status of a commit, and a comment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench.core.legible import one_line
from buildbot_bench.plugin.outbox.site import NamedCulprit, Site, WantedNotice, call
from buildbot_bench.workflow.notify import GitHub

# GitHub takes no longer description of a status.
STATUS_COLUMNS = 140
# Statuses of one context replace each other.
CONTEXT = "buildbot-bench"
STATUS, COMMENT = "github-status", "github-comment"


class GitHubSite:
    """GitHub as bench.yml has it for the repository that the culprit is of."""

    SETTINGS = GitHub

    def __init__(self, settings: GitHub) -> None:
        self._settings = settings
        self.token_secret = settings.token_secret

    def notices(self, culprit: NamedCulprit) -> Sequence[WantedNotice]:
        """A status and a comment, as far as they are wanted."""
        return list(self._notices(culprit))

    def speaker(self, kind: str, *, token: str, page: str) -> Site | None:
        """A status, or a comment."""
        api, repository = self._settings.api, self._settings.repository
        if kind == STATUS:
            return GitHubStatus(api=api, repository=repository, token=token, page=page)
        if kind == COMMENT:
            return GitHubComment(api=api, repository=repository, token=token)
        return None

    def _notices(self, culprit: NamedCulprit) -> Iterator[WantedNotice]:
        if self._settings.status:
            yield WantedNotice(kind=STATUS, target=culprit.sha, body=culprit.line)
        if self._settings.comment:
            yield WantedNotice(kind=COMMENT, target=culprit.sha, body=culprit.markdown)


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
        await call("POST", url, _github(self.token), status | {"description": described})


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
        known = await call("GET", f"{url}?per_page=100", headers)
        if any(mark in str(comment.get("body")) for comment in known):
            return
        await call("POST", url, headers, {"body": f"{body}\n<!-- {mark} -->\n"})


def _github(token: str) -> Mapping[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "User-Agent": "buildbot-bench",
    }
