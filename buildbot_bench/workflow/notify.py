"""What bench.yml says of the sites that hear of a culprit; it speaks to none of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from buildbot_bench.workflow.fields import GITHUB_PATTERN, Model, Name, Site


class GitHub(Model):
    """Where a culprit's commit gets a status and a comment."""

    repository: Annotated[str, StringConstraints(pattern=GITHUB_PATTERN)]
    """OWNER/NAME."""
    token_secret: Name
    """The name of the Buildbot secret that holds a token which may write statuses and comments."""
    api: Site = "https://api.github.com"
    """URL of its API; another one for GitHub Enterprise, Gitea or Forgejo."""
    status: bool = True
    """Give the commit a status."""
    comment: bool = True
    """Comment on the commit."""


class Phabricator(Model):
    """Where the reviews that a culprit's message names get a comment."""

    site: Site
    """URL of the site."""
    token_secret: Name
    """The name of the Buildbot secret that holds a Conduit API token."""


class Notify(Model):
    """Which sites are told of a culprit, once; improvements and doubts are told to none."""

    github: GitHub | None = None
    """Where the commit lives."""
    phabricator: Phabricator | None = None
    """Where it was reviewed."""
