"""What bench.yml says of the sites that hear of a culprit; it speaks to none of them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, StringConstraints, ValidationError, model_validator

from buildbot_bench import extensions
from buildbot_bench.core.errors import UsageError
from buildbot_bench.workflow.fields import GITHUB_PATTERN, Model, Name, Site
from buildbot_bench.workflow.relations import Problem, nearest, require


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
    """Which sites are told of a culprit, once; improvements and doubts are told to none.

    Other keys are those of sites that installed packages add (see buildbot_bench.extensions).
    """

    model_config = ConfigDict(extra="allow")

    github: GitHub | None = None
    """Where the commit lives."""
    phabricator: Phabricator | None = None
    """Where it was reviewed."""

    @property
    def sites(self) -> dict[str, Model]:
        """The settings of each site that is named, by its key."""
        said = {"github": self.github, "phabricator": self.phabricator, **(self.model_extra or {})}
        return {name: settings for name, settings in said.items() if settings is not None}

    @model_validator(mode="after")
    def _added_sites(self) -> Self:
        """Read what is said of sites of other packages, by the settings' class of each."""
        extra = self.model_extra or {}
        found: list[Problem] = []
        for name, said in list(extra.items()):
            try:
                extra[name] = _settings(name, said)
            except ValidationError as error:
                found += [
                    Problem(place=("notify", name, *detail["loc"]), message=detail["msg"])
                    for detail in error.errors()
                ]
            except UsageError as error:
                found.append(Problem(place=("notify", name), message=str(error)))
        require(iter(found))
        return self


def _settings(name: str, said: object) -> Model:
    registered = extensions.registered(extensions.SITES)
    if name not in registered:
        raise UsageError(f"unknown key{nearest(name, registered)}")
    settings: Model = extensions.load(registered[name]).SETTINGS.model_validate(said)
    return settings
