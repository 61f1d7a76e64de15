"""What bench.yml may say of what starts measurements; it watches nothing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from buildbot_bench.workflow.fields import Branch, Model, OneOrMore, PathPattern, Switch


class Push(Model):
    """Which commits are measured as they arrive."""

    branches: OneOrMore[Branch] = ("main",)
    """The branches that are watched; the first is the one whose commits nNNNNNN counts."""
    paths: OneOrMore[PathPattern] = ()
    """Only commits that touch one of these are measured; GitHub's patterns. Empty: any."""
    paths_ignore: OneOrMore[PathPattern] = ()
    """Paths that do not count as touched."""

    @field_validator("paths", "paths_ignore")
    @classmethod
    def _some_path_is_taken(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if all(pattern.startswith("!") for pattern in patterns):
            raise ValueError("takes nothing: a pattern without '!' must come first")
        return patterns


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
