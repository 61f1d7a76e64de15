"""The URL templates of commits, reviews and files in bench.yml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.links import Links, check_template
from buildbot_bench.workflow.fields import Model


def _checked(name: str) -> Callable[[str], str]:
    def check(template: str) -> str:
        try:
            return check_template(template, name)
        except UsageError as error:
            raise ValueError(str(error)) from error

    return check


_Url = Annotated[str, StringConstraints(min_length=1)]


class LinkTemplates(Model):
    """URL templates of the repository's pages; the repository's own URL tells those not stated.

    It tells them of GitHub, GitLab, cgit and Phabricator.
    """

    commit: Annotated[_Url, AfterValidator(_checked("commit_url"))] | None = None
    """A commit's page: https://git.example.org/src/commit/?id={commit}."""
    review: Annotated[_Url, AfterValidator(_checked("review_url"))] | None = None
    """A review's page: https://reviews.example.org/{review}, which is D8526 of Phabricator, or
    https://git.example.org/pulls/{review}, which is the number of a pull request."""
    diff: Annotated[_Url, AfterValidator(_checked("diff_url"))] | None = None
    """What a commit changed: https://git.example.org/src/diff/?id={commit}."""
    file: Annotated[_Url, AfterValidator(_checked("file_url"))] | None = None
    """A line of a file: https://git.example.org/src/tree/{path}?id={commit}#n{line}."""

    @property
    def links(self) -> Links:
        """The same in the core's words."""
        return Links(
            commit_url=self.commit or "",
            review_url=self.review or "",
            diff_url=self.diff or "",
            file_url=self.file or "",
        )
