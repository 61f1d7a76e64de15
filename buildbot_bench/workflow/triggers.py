"""What bench.yml may say of what starts measurements; it watches nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from buildbot_bench.core.branches import is_literal, selected_branches
from buildbot_bench.workflow.fields import BranchPattern, Model, OneOrMore, PathPattern, Switch


class Push(Model):
    """Which commits are measured as they arrive."""

    branches: OneOrMore[BranchPattern] = ("main",)
    """The branches that are watched: names, and patterns as GitHub has them, the trunk first.
    Each has a history of its own from where it parts from those before it."""
    paths: OneOrMore[PathPattern] = ()
    """Only commits that touch one of these are measured; GitHub's patterns. Empty: any."""
    paths_ignore: OneOrMore[PathPattern] = ()
    """Paths that do not count as touched."""

    @property
    def is_of_patterns(self) -> bool:
        """Whether branches may come that are watched though no word here is their name."""
        return any(map(_is_pattern, self.branches))

    @property
    def named(self) -> tuple[str, ...]:
        """The branches that are watched by name."""
        return tuple(branch for branch in self.branches if not _is_pattern(branch))

    def watched(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of some branches that are watched, in the file's order."""
        return selected_branches(self.branches, names)

    @field_validator("branches", "paths", "paths_ignore")
    @classmethod
    def _something_is_taken(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if all(pattern.startswith("!") for pattern in patterns):
            raise ValueError("takes nothing: a pattern without '!' must come first")
        return patterns


def _is_pattern(branch: str) -> bool:
    return not is_literal(branch)


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


class Triggers(Model):
    """What starts measurements."""

    push: Push | None = None
    """Commits that arrive."""
    workflow_dispatch: Annotated[Dispatch | None, Field(alias="workflow_dispatch")] = None
    """People, who may start searches."""
    breakage: Switch = True
    """Three commits in a row that do not build, or do not boot: the farm searches by itself for the
    one that broke the branch, and mails it. false: it does not."""


_Trigger = Literal["push", "workflow_dispatch"]
On = Annotated[
    Triggers,
    BeforeValidator(_as_mapping, json_schema_input_type=Triggers | _Trigger | list[_Trigger]),
]
