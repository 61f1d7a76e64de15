"""The reading of JSON into frozen dataclasses, by the annotations that `json_model` writes by."""

import base64
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from buildbot_bench.core.json_model import Rule

Record = TypeVar("Record")
_WANTED = {
    str: "be text",
    bool: "be true or false",
    int: "be a whole number",
    float: "be a number",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleaned:
    """How a stranger's text is made fit to be shown when it is read."""

    by: Callable[[str], str]


Name = Annotated[str, Rule(minimum=1)]
"""A text that may be neither left out nor empty."""


class UnreadableError(ValueError):
    """A value that is not what its key holds: it must do what is `wanted`."""

    def __init__(self, key: str, wanted: str, value: Any, *, hint: str = "") -> None:
        super().__init__(f"'{key}' must {wanted}")
        self.key, self.wanted, self.value, self.hint = key, wanted, value, hint


class MissingKeyError(UnreadableError):
    """A key that must be there and is not."""

    def __init__(self, key: str) -> None:
        super().__init__(key, "be there", None)


class _MisfitError(ValueError):
    """A value of another type, or against a rule: what it must do."""

    def __init__(self, wanted: str, hint: str = "") -> None:
        super().__init__(wanted)
        self.wanted, self.hint = wanted, hint


def from_json(kind: type[Record], raw: Any) -> Record:
    """Read a dataclass from what `to_json` writes of it, or of one that has more fields.

    A key may be missing, or null, where its field has a default. Raises UnreadableError.
    """
    if not isinstance(raw, Mapping):
        raise UnreadableError(kind.__name__, "be an object", raw)
    found: dict[str, Any] = {}
    for name, hint, is_required in _fields(kind):  # type: ignore[arg-type]
        key = name.rstrip("_")
        value = raw.get(key)
        if value is None and not is_required:
            continue
        if key not in raw or (hint == Name and (value is None or value == "")):
            raise MissingKeyError(key)
        try:
            found[name] = _reader(hint)(value)
        except _MisfitError as misfit:
            raise UnreadableError(key, misfit.wanted, value, hint=misfit.hint) from None
    return kind(**found)


@cache
def _fields(kind: type) -> list[tuple[str, Any, bool]]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        (one.name, hints[one.name], one.default is MISSING and one.default_factory is MISSING)
        for one in fields(kind)
    ]


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """What reads a value of a type: made once, as thousands of stored records are read by it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return partial(_checked, arguments[1], arguments[0], _reader(arguments[0]))
    if origin in {Union, UnionType}:
        (member,) = (_reader(one) for one in arguments if one is not NoneType)
        return lambda value: None if value is None else member(value)
    if origin is tuple:
        wanted = "be a list of names" if hint == tuple[str, ...] else "be a list"
        return partial(_tuple, arguments, wanted)
    if origin is not None and issubclass(origin, Mapping):
        return partial(_mapping, _reader(arguments[1]))
    if isinstance(hint, type) and is_dataclass(hint):
        return partial(from_json, hint)
    return (lambda value: value) if hint is Any else partial(_scalar, hint)


def _tuple(kinds: tuple[Any, ...], wanted: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _MisfitError(wanted)
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise _MisfitError(wanted)
    try:
        return tuple(_reader(kind)(one) for kind, one in zip(kinds, value, strict=True))
    except _MisfitError:
        raise _MisfitError(wanted) from None


def _mapping(reader: Callable[[Any], Any], value: Any) -> dict[str, Any]:
    try:
        return {str(name): reader(one) for name, one in value.items()}
    except (AttributeError, _MisfitError):
        raise _MisfitError("hold texts by name") from None


def _checked(told: Rule | Cleaned, kind: Any, reader: Callable[[Any], Any], value: Any) -> Any:
    """A value that keeps to a rule, or a text made fit to be shown."""
    if isinstance(told, Cleaned):
        return told.by(reader(value))
    least = -math.inf if told.minimum is None else told.minimum
    most = math.inf if told.maximum is None else told.maximum
    wanted = _WANTED[str]
    try:
        read = reader(value)
    except _MisfitError as misfit:
        wanted = misfit.wanted
    else:
        number = read if isinstance(read, int | float) else len(read)
        if least < number < most if told.open else least <= number <= most:
            return read
    if told.open:
        wanted = f"lie between {told.minimum} and {told.maximum}"
    elif kind in {int, float}:
        wanted = f"lie in {told.minimum}..{'' if told.maximum is None else told.maximum}"
    elif kind is not str:
        wanted = f"hold at most {told.maximum} files in base64"
    raise _MisfitError(wanted, told.hint)


def _scalar(hint: Any, value: Any) -> Any:
    is_enum = isinstance(hint, type) and issubclass(hint, Enum)
    with suppress(ValueError, OverflowError):
        if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
            if math.isfinite(number := float(value)):
                return number
        elif hint is bytes and isinstance(value, str):
            return base64.b64decode(value, validate=True)
        elif is_enum:
            return hint(value)
        elif hint in {str, bool, int} and type(value) is hint:
            return value
    if is_enum:
        raise _MisfitError(f"be one of {', '.join(str(one.value) for one in hint)}")
    raise _MisfitError(_WANTED.get(hint, "be an object"))
