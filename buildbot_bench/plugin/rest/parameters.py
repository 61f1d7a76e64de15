"""Reads the parameters of an action by their kind, and names the one that is wrong.

It knows no resource. Each function raises UsageError, which is answered by JSON-RPC's "invalid
params"; `None` stands for a parameter that is not given.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from buildbot_bench.core.errors import UsageError

Args = dict[str, Any]


def text(args: Args, name: str) -> str | None:
    """A text, which may be empty.

    Raises:
        UsageError: It is no text.
    """
    value = args.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"the parameter {name!r} must be text, not {value!r:.80}")
    return value


def required_text(args: Args, name: str) -> str:
    """A text that must be there and not be empty.

    Raises:
        UsageError: It is missing, empty, or no text.
    """
    found = text(args, name)
    if not found:
        raise UsageError(f"the parameter {name!r} is missing")
    return found


def texts(args: Args, name: str) -> tuple[str, ...]:
    """A list of texts; empty when it is not given.

    Raises:
        UsageError: It is no list of texts.
    """
    value = args.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"the parameter {name!r} must be a list of names, not {value!r:.80}")
    return tuple(value)


def fraction(args: Args, name: str) -> float | None:
    """A number between 0 and 1, neither of them.

    Raises:
        UsageError: It is no number, or lies elsewhere.
    """
    value = args.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UsageError(f"the parameter {name!r} must lie between 0 and 1, not be {value!r:.80}")
    return float(value)


def number(args: Args, name: str, *, least: int, most: int, default: int, hint: str = "") -> int:
    """A whole number from `least` to `most`.

    Raises:
        UsageError: It is no whole number, or lies elsewhere.
    """
    value = args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(
            f"the parameter {name!r} must lie in {least}..{most}, not be {value!r:.80}", hint=hint
        )
    return value


def flag(args: Args, name: str) -> bool:
    """True or false; false when it is not given.

    Raises:
        UsageError: It is neither.
    """
    value = args.get(name, False)
    if not isinstance(value, bool):
        raise UsageError(f"the parameter {name!r} must be true or false, not {value!r:.80}")
    return value


def files(args: Args, name: str, *, most: int) -> dict[str, bytes]:
    """At most so many files by name, in base64: they need not be text of any encoding.

    Raises:
        UsageError: They are too many, or not in base64.
    """
    value = args.get(name) or {}
    if not isinstance(value, dict) or len(value) > most:
        raise UsageError(f"the parameter {name!r} must hold at most {most} files")
    try:
        return {str(file): base64.b64decode(body, validate=True) for file, body in value.items()}
    except (binascii.Error, TypeError, ValueError) as error:
        raise UsageError(f"the parameter {name!r} must hold files in base64") from error
