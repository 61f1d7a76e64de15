"""The recipients and the server of mails in bench.yml."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from buildbot_bench.core.legible import quoted
from buildbot_bench.workflow.fields import Address, Model, Name, OneOrMore, PathPattern, Text


class Mail(Model):
    """Who gets mails on culprits, and through which server."""

    from_: Address
    to: OneOrMore[Address]
    reply_to: Address | None = None
    """A person who answers for the farm: where the answers of those who are mailed go."""
    to_author: bool = False
    """Also tell the author of the culprit, by the address in the commit, if it is a valid one.
    Off by default: whoever may push to the repository then chooses whom the farm writes to."""
    to_committer: bool = False
    """Also tell who committed the culprit, as `to-author` tells its author."""
    paths: dict[PathPattern, OneOrMore[Address]] = Field(default_factory=dict)
    """Who else is told when a suspect touches a path; GitHub's patterns."""
    smtp_host: Text = "localhost"
    smtp_port: Annotated[int, Field(gt=0, lt=65536)] = 25
    starttls: bool = False
    """Refuse to speak to the server in the clear."""
    user: Text | None = None
    """The name to log in with; needs password-secret."""
    password_secret: Name | None = None
    """The name of the Buildbot secret that holds the password; never the password itself."""

    @field_validator("paths")
    @classmethod
    def _each_path_takes_something(
        cls, paths: dict[str, tuple[str, ...]]
    ) -> dict[str, tuple[str, ...]]:
        if taken_back := [pattern for pattern in paths if pattern.startswith("!")]:
            raise ValueError(f"{quoted(taken_back[0])} takes nothing: write a pattern without '!'")
        return paths

    @model_validator(mode="after")
    def _login_is_whole(self) -> Self:
        if (self.user is None) != (self.password_secret is None):
            raise ValueError("'user' and 'password-secret' need each other")
        return self
