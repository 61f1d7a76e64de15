"""Notices of culprits on GitHub: the status of a commit, and a comment."""

from collections.abc import Iterator, Sequence

from buildbot_bench.core.legible import one_line
from buildbot_bench.plugin.outbox.site import NamedCulprit, WantedNotice, call
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
        if notice.kind == STATUS:
            status = {"state": "failure", "context": CONTEXT, "target_url": page}
            described = {"description": one_line(notice.body, columns=STATUS_COLUMNS)}
            await call("POST", f"{url}/statuses/{notice.target}", headers, status | described)
            return
        comments = f"{url}/commits/{notice.target}/comments"
        known = await call("GET", f"{comments}?per_page=100", headers)
        if not any(mark in str(comment.get("body")) for comment in known):
            await call("POST", comments, headers, {"body": f"{notice.body}\n<!-- {mark} -->\n"})

    def _notices(self, culprit: NamedCulprit) -> Iterator[WantedNotice]:
        if self._settings.status:
            yield WantedNotice(kind=STATUS, target=culprit.sha, body=culprit.line)
        if self._settings.comment:
            yield WantedNotice(kind=COMMENT, target=culprit.sha, body=culprit.markdown)
