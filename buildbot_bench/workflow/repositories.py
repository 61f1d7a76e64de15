"""The repositories of bench.yml, their branches, and the triggers that start measurements."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    model_validator,
)

from buildbot_bench.core.compare.variants import cells_of
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import (
    branch_in,
    is_literal,
    name_in_repository,
    repository_of,
    selected_branches,
)
from buildbot_bench.core.triggers import parse_cron
from buildbot_bench.core.variant import PatchFile, Review, parse_variant
from buildbot_bench.workflow.fields import (
    ANY_BRANCH_PATTERN,
    BranchPattern,
    Model,
    OneOrMore,
    PathPattern,
    Switch,
    Text,
    checked,
)
from buildbot_bench.workflow.problems import Problem

MOST_SCHEDULES = 50


def _something_is_taken(patterns: tuple[str, ...]) -> tuple[str, ...]:
    if all(pattern.startswith("!") for pattern in patterns):
        raise ValueError("takes nothing: a pattern without '!' must come first")
    return patterns


_Taken = AfterValidator(_something_is_taken)
_Paths = Annotated[OneOrMore[PathPattern], _Taken]


class Push(Model):
    """Which commits are measured as they arrive."""

    branches: Annotated[OneOrMore[BranchPattern], _Taken] = ("main",)
    """The branches that are watched: names, and patterns as GitHub has them, the trunk first.
    Each has a history of its own from where it parts from those before it."""
    paths: _Paths = ()
    """Only commits that touch one of these are measured; GitHub's patterns. Empty: any."""
    paths_ignore: _Paths = ()
    """Paths that do not count as touched."""

    @property
    def is_of_patterns(self) -> bool:
        """Whether branches may come that are watched though no word here is their name."""
        return not all(map(is_literal, self.branches))

    @property
    def named(self) -> tuple[str, ...]:
        """The branches that are watched by name."""
        return tuple(filter(is_literal, self.branches))

    def watched(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of some branches that are watched, in the file's order."""
        return selected_branches(self.branches, names)


def _as_mapping(triggers: Any) -> Any:
    """`on: push` and `on: [push]` are `on: {push: }`."""
    match triggers:
        case str():
            triggers = {triggers: None}
        case list():
            triggers = dict.fromkeys(map(str, triggers))
    if isinstance(triggers, dict):
        return {key: {} if value is None else value for key, value in triggers.items()}
    return triggers


class Dispatch(Model):
    """GitHub's "by hand"; it takes no inputs here."""


class Schedule(Model):
    """When the tip of a branch is measured though nothing arrived."""

    cron: Annotated[str, checked(parse_cron)]
    """GitHub's five fields, in UTC: '0 3 * * *' is each night at three."""
    branch: Annotated[str, StringConstraints(pattern=ANY_BRANCH_PATTERN)] | None = None
    """The branch; the first of on.push.branches unless it is named. A branch of another repository
    than the first is `ports:main`."""
    factors: dict[Text, Text] = Field(default_factory=dict)
    """Instead of booting the tip afresh, compare all combinations of two to four changes of it:
    {patch: D58513, simple_tx: 'dev.igb.0.iflib.simple_tx:0,1'}. A value is a change, which is
    measured without and with it, or a tunable and its values."""

    def variants(self, base: str = "main") -> dict[str, str]:
        """The variants of all combinations of the factors, with their labels; `base` the first."""
        return cells_of(base, (f"{name}={change}" for name, change in self.factors.items()))

    @model_validator(mode="after")
    def _factors_make_variants(self) -> Self:
        try:
            specs = [parse_variant(one) for one in self.variants()] if self.factors else []
        except UsageError as error:
            raise ValueError(f"'factors': {error}") from error
        changes = chain.from_iterable(spec.changes for spec in specs)
        if files := [change.name for change in changes if isinstance(change, PatchFile)]:
            raise ValueError(
                f"'factors': file:{files[0]} is a file of a person who asks: name a review, or"
                " commit:REVISION"
            )
        return self

    @property
    def names_reviews(self) -> bool:
        """Whether a factor is the patch of a review."""
        return any(
            isinstance(change, Review)
            for one in (self.variants() if self.factors else ())
            for change in parse_variant(one).changes
        )


class Concurrency(Model):
    """What becomes of commits that wait to be measured when others arrive."""

    cancel_in_progress: Switch = False
    """true: a push drops what earlier pushes to its branch wait for; only what has begun goes on.
    A search looks at the commits that were passed over when one of them made a difference."""


class Triggers(Model):
    """What starts measurements."""

    push: Push | None = None
    """Commits that arrive."""
    schedule: Annotated[tuple[Schedule, ...], Field(min_length=1, max_length=MOST_SCHEDULES)] = ()
    """Times at which the tip of a branch is measured by fresh boots, whatever arrived."""
    workflow_dispatch: Annotated[Dispatch | None, Field(alias="workflow_dispatch")] = None
    """People, who may start searches."""
    breakage: Switch = True
    """Three commits in a row that do not build, or do not boot: the farm searches by itself for the
    one that broke the branch, and mails it. false: it does not."""

    @property
    def followed(self) -> Push:
        """The branches whose history is read, be it that their pushes are measured or not."""
        if self.push is not None:
            return self.push
        named = dict.fromkeys(
            one.branch or Push().branches[0]
            for one in self.schedule
            if not repository_of(one.branch or "")
        )
        return Push(branches=tuple(named)) if named else Push()

    @model_validator(mode="after")
    def _scheduled_branches_are_followed(self) -> Self:
        for schedule in self.schedule:
            if not schedule.branch or repository_of(schedule.branch):
                continue  # whose branches bench.yml names elsewhere
            if not self.followed.watched([schedule.branch]):
                raise ValueError(
                    f"'push' does not take the branch '{schedule.branch}' of 'schedule'"
                )
        return self


_Trigger = Literal["push", "workflow_dispatch"]
On = Annotated[
    Triggers,
    BeforeValidator(_as_mapping, json_schema_input_type=Triggers | _Trigger | list[_Trigger]),
]


MOST_REPOSITORIES = 16
"""Each is asked for news once a minute, and has a mirror of its own."""

_PASSWORD = re.compile(r"[^/]+://[^/@]*:[^/@]*@")


def _without_password(url: str) -> str:
    if _PASSWORD.match(url):
        raise ValueError("holds a password: use a credential helper of git's, or an ssh key")
    return url


Url = Annotated[Text, AfterValidator(_without_password)]


class RepositoryEntry(Model):
    """One of several repositories."""

    url: Url
    """URL of the git repository that is watched, or its path relative to this file."""
    branches: Annotated[OneOrMore[BranchPattern], _Taken] = ()
    """The branches that are watched, the trunk first; those of on.push unless they are named."""
    paths: _Paths = ()
    """Only commits that touch one of these are measured; those of on.push unless any is named."""
    paths_ignore: _Paths = ()
    """Paths that do not count as touched; those of on.push unless any is named."""

    def watched_by(self, push: Push) -> Push:
        """What is watched of it, where on.push says `push`."""
        own = {
            name: named
            for name in ("branches", "paths", "paths_ignore")
            if (named := getattr(self, name))
        }
        return push.model_copy(update=own)


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedRepository:
    """A repository as the farm names it.

    `key` is what stands before the names of its branches: empty of the first one. `name` is what
    bench.yml calls it; empty where it names none. `url` is as git takes it, `written` as it stands
    in the file.
    """

    key: str
    name: str
    url: str
    written: str
    push: Push

    @property
    def named(self) -> tuple[str, ...]:
        """The branches that are watched by name."""
        return tuple(branch_in(self.key, branch) for branch in self.push.named)

    def taken(self, branches: Iterable[str]) -> tuple[str, ...]:
        """Those of the farm's branches that are watched in it, in the file's order."""
        own = (name_in_repository(one) for one in branches if repository_of(one) == self.key)
        return tuple(branch_in(self.key, one) for one in self.push.watched(own))


def form_problems(repository: str | None, several: Mapping[str, Any] | None) -> Iterator[Problem]:
    """Whether bench.yml names its repositories in one of the two ways."""
    if several is None:
        if repository is None:
            yield Problem(place=("repository",), message="missing")
        return
    if repository is not None:
        message = "'repository' names one already: keep one of the two"
        yield Problem(place=("repositories",), message=message, of_key=True)
    if not several:
        yield Problem(place=("repositories",), message="is empty")
    for surplus in [*several][MOST_REPOSITORIES:]:
        message = f"is one more than {MOST_REPOSITORIES}: make another farm of it"
        yield Problem(place=("repositories", surplus), message=message, of_key=True)


def schedule_problems(
    branches: Iterable[str | None], all_of: Sequence[WatchedRepository]
) -> Iterator[str]:
    """What is wrong with the scheduled branches of other repositories than the first."""
    for branch in branches:
        if branch is None or not (key := repository_of(branch)):
            continue
        found = next((one for one in all_of if one.key == key), None)
        if found is None:
            known = ", ".join(one.key for one in all_of[1:])
            yield f"'schedule' names '{branch}', and there is no such repository" + (
                f": 'repositories' has, besides the first, {known}" if known else ""
            )
        elif not found.taken([branch]):
            yield f"'repositories' does not take the branch '{branch}' of 'schedule'"
