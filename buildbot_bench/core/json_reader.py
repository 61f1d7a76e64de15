"""The reading of JSON into frozen dataclasses, by the annotations that `json_model` writes by."""

import base64
import math
from collections.abc import Callable, Mapping
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
    tuple[str, ...]: "be a list of names",
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
    """A value of another type, or against a rule."""


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
        except _MisfitError:
            told = next((one.hint for one in _told(hint) if isinstance(one, Rule)), "")
            raise UnreadableError(key, _wanted(hint), value, hint=told) from None
    return kind(**found)


@cache
def _fields(kind: type) -> list[tuple[str, Any, bool]]:
    """The name and type of each field, and whether it has no default."""
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
        told, inner = arguments[1], _reader(arguments[0])
        return lambda value: _checked(told, inner(value))
    if origin in {Union, UnionType}:
        member = _reader(_without_none(arguments))
        return lambda value: None if value is None else member(value)
    if origin is tuple:
        return partial(_tuple, arguments)
    if origin is not None and issubclass(origin, Mapping):
        return partial(_mapping, _reader(arguments[1]))
    if isinstance(hint, type) and is_dataclass(hint):
        return partial(from_json, hint)
    return (lambda value: value) if hint is Any else partial(_scalar, hint)


def _tuple(kinds: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _MisfitError
    if kinds[-1] is Ellipsis:
        return tuple(map(_reader(kinds[0]), value))
    if len(kinds) != len(value):
        raise _MisfitError
    return tuple(_reader(kind)(one) for kind, one in zip(kinds, value, strict=True))


def _mapping(reader: Callable[[Any], Any], value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _MisfitError
    return {str(name): reader(one) for name, one in value.items()}


def _checked(told: Rule | Cleaned, value: Any) -> Any:
    """A value that keeps to a rule, or a text made fit to be shown."""
    if isinstance(told, Cleaned):
        return told.by(value)
    number = value if isinstance(value, int | float) else len(value)
    least = -math.inf if told.minimum is None else told.minimum
    most = math.inf if told.maximum is None else told.maximum
    if not (least < number < most if told.open else least <= number <= most):
        raise _MisfitError
    return value


def _scalar(hint: Any, value: Any) -> Any:
    """A value without parts."""
    try:
        if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
            if math.isfinite(number := float(value)):
                return number
        elif hint is bytes and isinstance(value, str):
            return base64.b64decode(value, validate=True)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            return hint(value)
        elif hint in {str, bool, int} and type(value) is hint:
            return value
    except (ValueError, OverflowError) as error:
        raise _MisfitError from error
    raise _MisfitError


def _wanted(hint: Any) -> str:
    """What a value of a type must do."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _ruled(arguments[1], arguments[0]) or _wanted(arguments[0])
    if origin in {Union, UnionType}:
        return _wanted(_without_none(arguments))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"be one of {', '.join(str(one.value) for one in hint)}"
    if origin is not None and issubclass(origin, Mapping):
        return "hold texts by name"
    return _WANTED.get(hint, "be a list" if origin is tuple else "be an object")


def _ruled(told: Rule | Cleaned, hint: Any) -> str:
    if isinstance(told, Cleaned) or hint is str:
        return ""
    if told.open:
        return f"lie between {told.minimum} and {told.maximum}"
    if hint not in {int, float}:
        return f"hold at most {told.maximum} files in base64"
    return f"lie in {told.minimum}..{'' if told.maximum is None else told.maximum}"


def _told(hint: Any) -> list[Any]:
    """What annotates a type, or one that may be null."""
    if get_origin(hint) in {Union, UnionType}:
        hint = _without_none(get_args(hint))
    return list(get_args(hint)[1:]) if get_origin(hint) is Annotated else []


def _without_none(arguments: tuple[Any, ...]) -> Any:
    """The only type that a value has where it is not null."""
    (kind,) = (one for one in arguments if one is not NoneType)
    return kind
