"""The farm's answers, read as what they are to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.json_reader import UnreadableError, from_json
from buildbot_bench.core.legible import long_line

Answer = TypeVar("Answer")


def understood(kind: type[Answer], raw: Mapping[str, Any], what: str) -> Answer:
    """Read an answer about `what`; raises InfraError for one of another shape."""
    try:
        return from_json(kind, raw)
    except UnreadableError as error:
        raise not_understood(what, error) from error


def not_understood(what: str, error: Exception) -> InfraError:
    """The complaint about an answer of another shape."""
    return InfraError(
        f"the farm's answer about a {what} is not understood: {long_line(str(error))}",
        hint="install the release of buildbot-bench that the farm runs",
    )
