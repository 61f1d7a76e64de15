"""The sites in bench.yml that hear of a culprit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from buildbot_bench import installed
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.workflow.fields import GITHUB_PATTERN, Model, Name, Site
from buildbot_bench.workflow.problems import Problem, nearest, require

GitHubName = Annotated[str, StringConstraints(pattern=GITHUB_PATTERN)]


class GitHubRepository(Model):
    """Where another repository's commits get a status and a comment."""

    repository: GitHubName
    """OWNER/NAME."""
    token_secret: Name | None = None
    """Its own token's secret, where the first repository's does not let in."""


class GitHub(Model):
    """Where a culprit's commit gets a status and a comment."""

    repository: GitHubName
    """OWNER/NAME of the first repository."""
    repositories: dict[Name, GitHubRepository] = Field(default_factory=dict)
    """Of the others, by their names in bench.yml's `repositories`; the farm tells GitHub nothing
    of commits to those that are not here."""
    token_secret: Name
    """The name of the Buildbot secret that holds a token which may write statuses and comments."""
    api: Site = "https://api.github.com"
    """URL of its API; another one for GitHub Enterprise, Gitea or Forgejo."""
    status: bool = True
    """Give the commit a status."""
    comment: bool = True
    """Comment on the commit."""

    def of(self, key: str) -> GitHub | None:
        """What sites hear of a repository, by what its branches have in front; None: nothing."""
        if not key:
            return self
        if key not in self.repositories:
            return None
        own = self.repositories[key]
        told = {"repository": own.repository, "token_secret": own.token_secret or self.token_secret}
        return self.model_copy(update=told)


class Phabricator(Model):
    """Where the reviews that a culprit's message names get a comment."""

    site: Site
    """URL of the site."""
    token_secret: Name
    """The name of the Buildbot secret that holds a Conduit API token."""


DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_MINUTES_A_DAY = 24 * 60


def _minute_of_day(value: Any) -> Any:
    """`08:00` is 480 minutes; so is 8:00, which YAML itself reads as a number to the base of 60."""
    if isinstance(value, str) and (match := _TIME.fullmatch(value)):
        return int(match[1]) * 60 + int(match[2])
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MINUTES_A_DAY:
        return value
    raise ValueError(f"should be a time of day such as '08:00', not {quoted(value)}")


class Digest(Model):
    """When the weekly mail of improvements is sent."""

    day: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = (
        "monday"
    )
    """The day of the week."""
    at: Annotated[int, BeforeValidator(_minute_of_day), WithJsonSchema({"type": "string"})] = 480
    """The time of day, in UTC, such as 08:00."""

    @property
    def weekday(self) -> int:
        """The number of the day: 0 is Monday."""
        return DAYS.index(self.day)


class Notify(Model):
    """Which sites hear of a culprit, once; none of them hears of improvements and doubts.

    Other keys are those of sites that installed packages add (see buildbot_bench.installed).
    """

    model_config = ConfigDict(extra="allow")

    github: GitHub | None = None
    """Where the commit lives."""
    phabricator: Phabricator | None = None
    """Where it was reviewed."""
    digest: Digest | None = None
    """When the weekly mail goes to those whom `mail` names; without it a week after the first
    improvement that it tells of. It is not sent when there is nothing to tell."""

    @property
    def sites(self) -> dict[str, Model]:
        """The settings of each site that is named, by its key."""
        return self.sites_of("")

    def sites_of(self, key: str) -> dict[str, Model]:
        """Those that hear of a repository's commits; `key` is what its branches have in front."""
        github = self.github.of(key) if self.github else None
        said = {"github": github, "phabricator": self.phabricator, **(self.model_extra or {})}
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


def notify_problems(notify: Notify, repositories: Sequence[str]) -> Iterator[Problem]:
    """Whether `notify` names repositories that are watched, but for the first."""
    if notify.github is None:
        return
    for name in notify.github.repositories:
        place = ("notify", "github", "repositories", name)
        if repositories[:1] == [name]:
            message = "is the first repository: notify.github.repository is its own"
            yield Problem(place=place, message=message, of_key=True)
        elif name not in repositories:
            message = f"is not in 'repositories'{nearest(name, repositories)}"
            yield Problem(place=place, message=message, of_key=True)


def _settings(name: str, said: object) -> Model:
    registered = installed.registered(installed.SITES)
    if name not in registered:
        raise UsageError(f"unknown key{nearest(name, registered)}")
    settings: Model = installed.load(registered[name]).SETTINGS.model_validate(said)
    return settings
