"""The repositories of bench.yml, and the branches that are watched of each.

The first one's branches keep their plain names, so that a farm that comes to watch another
repository keeps all measurements. The others' are called `ports:main`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator

from buildbot_bench.core.branches import branch_in, name_in_repository, repository_of
from buildbot_bench.workflow.fields import BranchPattern, Model, OneOrMore, PathPattern, Text
from buildbot_bench.workflow.relations import Problem
from buildbot_bench.workflow.triggers import Push, something_is_taken

MOST_REPOSITORIES = 16
"""Each is asked for news once a minute, and has a mirror of its own."""

_PASSWORD = re.compile(r"[^/]+://[^/@]*:[^/@]*@")


def _without_password(url: str) -> str:
    if _PASSWORD.match(url):
        raise ValueError("holds a password: use a credential helper of git's, or an ssh key")
    return url


Url = Annotated[Text, AfterValidator(_without_password)]
_Taken = AfterValidator(something_is_taken)


class RepositoryEntry(Model):
    """One of several repositories."""

    url: Url
    """URL of the git repository that is watched, or its path relative to this file."""
    branches: Annotated[OneOrMore[BranchPattern], _Taken] = ()
    """The branches that are watched, the trunk first; those of on.push unless they are named."""
    paths: Annotated[OneOrMore[PathPattern], _Taken] = ()
    """Only commits that touch one of these are measured; those of on.push unless any is named."""
    paths_ignore: Annotated[OneOrMore[PathPattern], _Taken] = ()
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
