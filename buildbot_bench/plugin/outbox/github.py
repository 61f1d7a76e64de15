"""Notices of culprits on GitHub: the status of a commit, and a comment."""

from collections.abc import Iterator, Sequence
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
        if kind not in {STATUS, COMMENT}:
            return None
        return _Speaker(settings=self._settings, kind=kind, token=token, page=page)

    def _notices(self, culprit: NamedCulprit) -> Iterator[WantedNotice]:
        if self._settings.status:
            yield WantedNotice(kind=STATUS, target=culprit.sha, body=culprit.line)
        if self._settings.comment:
            yield WantedNotice(kind=COMMENT, target=culprit.sha, body=culprit.markdown)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Speaker:
    """The status of a commit, whose link is the search's `page`; or a comment on the commit."""

    settings: GitHub
    kind: str
    token: str
    page: str

    async def say(self, target: str, body: str, *, mark: str) -> None:
        """Set the status again, which changes nothing; comment unless a comment has the mark."""
        url = f"{self.settings.api.rstrip('/')}/repos/{self.settings.repository}"
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/vnd.github+json",
            "User-Agent": "buildbot-bench",
        }
        if self.kind == STATUS:
            status = {"state": "failure", "context": CONTEXT, "target_url": self.page}
            described = {"description": one_line(body, columns=STATUS_COLUMNS)}
            await call("POST", f"{url}/statuses/{target}", headers, status | described)
            return
        comments = f"{url}/commits/{target}/comments"
        known = await call("GET", f"{comments}?per_page=100", headers)
        if not any(mark in str(comment.get("body")) for comment in known):
            await call("POST", comments, headers, {"body": f"{body}\n<!-- {mark} -->\n"})
