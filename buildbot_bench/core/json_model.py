"""JSON and JSON Schema of frozen dataclasses by their annotations: written, described and read."""

import base64
import inspect
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from itertools import chain
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

Json = dict[str, Any]

_Getter = TypeVar("_Getter", bound=Callable[..., Any])
_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What a number must keep to besides its type; `undefined` lets null stand for it.

    An `open` interval has neither of its ends. `hint` is for those who write another number.
    """

    minimum: float | None = None
    maximum: float | None = None
    undefined: bool = False
    open: bool = False
    hint: str = ""


Count = Annotated[int, Rule(minimum=0)]
Share = Annotated[float, Rule(minimum=0, maximum=1)]
Fraction = Annotated[float, Rule(minimum=0, maximum=1, open=True)]
Figure = Annotated[float, Rule(undefined=True)]


def in_json(getter: _Getter) -> _Getter:
    """Mark the function of a property as part of the JSON; stands below @property."""
    getter.__dict__["in_json"] = True
    return getter


def to_json(record: Any) -> Json:
    """A dataclass as plain JSON types: fields, and properties marked `@in_json`, by their names.

    Null stands for infinity and NaN, base64 for bytes; a keyword of Python loses its underscore.
    Raises TypeError for a value that is neither a record, an enum, a collection nor a scalar.
    """
    types = json_types(record.__class__)
    return {name.rstrip("_"): _encoded(getattr(record, name)) for name in types}


def given_json(record: Any) -> Json:
    """What `to_json` writes, without what is as it is when nothing is said."""
    usual = {one.name: one.default for one in fields(record)}
    usual |= {
        one.name: one.default_factory()
        for one in fields(record)
        if one.default_factory is not MISSING
    }
    given = (name for name in usual if getattr(record, name) != usual[name])
    return {name.rstrip("_"): _encoded(getattr(record, name)) for name in given}


def schema_of(kind: type, *, title: str) -> Json:
    """The JSON Schema (2020-12) of what `to_json` writes for a dataclass: every key is required."""
    parts: dict[type, Json] = {}
    whole = _object(kind, parts)
    defined = {part.__name__: described for part, described in parts.items()}
    if len(defined) < len(parts):
        raise TypeError(f"two parts of {kind.__name__} have one name")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": title,
        "$defs": dict(sorted(defined.items())),
    }


@cache
def json_types(kind: type) -> Mapping[str, Any]:
    """The annotation of each key that a dataclass has in JSON, in the order of writing."""
    hints = get_type_hints(kind, include_extras=True)
    found = {field.name: hints[field.name] for field in fields(kind)}
    for name, member in chain.from_iterable(vars(one).items() for one in kind.__mro__):
        getter = member.fget if isinstance(member, property) else None
        if getter is not None and getattr(getter, "in_json", False):
            found[name] = get_type_hints(getter, include_extras=True)["return"]
    return found


def _encoded(value: Any) -> Any:
    value = value.value if isinstance(value, Enum) else value
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, Mapping):
        return {str(name): _encoded(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_encoded(inner) for inner in value]
    raise TypeError(f"{type(value).__name__} has no JSON")


def _object(kind: type, parts: dict[type, Json]) -> Json:
    types = json_types(kind)
    return {
        "description": inspect.getdoc(kind) or "",
        "type": "object",
        "properties": {name: _described(hint, parts) for name, hint in types.items()},
        "required": list(types),
        "additionalProperties": False,
    }


def _described(hint: Any, parts: dict[type, Json]) -> Json:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _ruled(_described(arguments[0], parts), arguments[1])
    if origin in {Union, UnionType}:
        _check_distinguishable([one for one in arguments if is_dataclass(one)])
        return {"anyOf": [_described(one, parts) for one in arguments]}
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": _described(arguments[0], parts)}
        return {
            "type": "array",
            "prefixItems": [_described(member, parts) for member in arguments],
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _described(arguments[1], parts)}
    return {"enum": list(arguments)} if origin is Literal else _plain(hint, parts)


def _plain(hint: Any, parts: dict[type, Json]) -> Json:
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [one.value for one in hint], "description": inspect.getdoc(hint) or ""}
    if isinstance(hint, type) and is_dataclass(hint):
        if hint not in parts:
            parts[hint] = {}  # a record may hold others of its own kind
            parts[hint] = _object(hint, parts)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(f"{hint} has no JSON")


def _ruled(described: Json, rule: Rule) -> Json:
    least, most = ("exclusiveMinimum", "exclusiveMaximum") if rule.open else ("minimum", "maximum")
    bounds = {least: rule.minimum, most: rule.maximum}
    ruled = described | {name: bound for name, bound in bounds.items() if bound is not None}
    return {"anyOf": [ruled, {"type": "null"}]} if rule.undefined else ruled


def _check_distinguishable(members: list[Any]) -> None:
    tags = [
        {(name, hint) for name, hint in json_types(one).items() if get_origin(hint) is Literal}
        for one in members
    ]
    for index, own in enumerate(tags):
        for other in tags[:index]:
            if {name for name, _ in own} & {name for name, _ in other} == set() or own & other:
                raise TypeError(f"nothing tells {[one.__name__ for one in members]} apart")


def shared(kind: type, source: object) -> dict[str, Any]:
    """The values of the fields of dataclass `kind` that `source` has by the same names."""
    return {
        one.name: getattr(source, one.name) for one in fields(kind) if hasattr(source, one.name)
    }


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
