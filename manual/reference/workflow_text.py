"""The page of bench.yml's keys, from its JSON Schema."""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from manual.reference.myst import code, plain, table

_Schema = Mapping[str, Any]
_LIMITS = {
    "minimum": "from",
    "exclusiveMinimum": "above",
    "maximum": "to",
    "exclusiveMaximum": "below",
}


def workflow_text() -> str:
    """A section for the file and one for each kind of table in it, in the order of first use."""
    schema = json.loads((files("buildbot_bench") / "bench.schema.json").read_text("utf-8"))
    definitions: _Schema = schema["$defs"]
    order = [*dict.fromkeys(_reached(schema, definitions))]
    parts = ["## The file", *_section(schema)]
    for name in order:
        parts += [f"## {name}", *_section(definitions[name])]
    return "\n\n".join(parts)


def _reached(one: Any, definitions: _Schema, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    match one:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            if name not in seen:
                yield name
                yield from _reached(definitions[name], definitions, seen | {name})
        case dict():
            for key, value in one.items():
                if key != "$defs":
                    yield from _reached(value, definitions, seen)
        case list():
            for value in one:
                yield from _reached(value, definitions, seen)


def _section(one: _Schema) -> Iterator[str]:
    yield plain(one.get("description", ""))
    required = one.get("required", [])
    rows = [
        (
            code(name),
            _kind(value),
            "required" if name in required else _default(value),
            plain(value.get("description", "")),
        )
        for name, value in one.get("properties", {}).items()
    ]
    if rows:
        yield table(("Key", "Type", "Default", "Meaning"), rows)


def _default(value: _Schema) -> str:
    default = value.get("default")
    return "" if default in (None, {}, []) else code(json.dumps(default))


def _kind(value: _Schema) -> str:  # noqa: PLR0911 - one for each kind of JSON Schema
    match value:
        case {"$ref": reference}:
            return str(reference).rpartition("/")[2]
        case {"anyOf": kinds} | {"oneOf": kinds}:
            found = dict.fromkeys(_kind(kind) for kind in kinds if kind.get("type") != "null")
            return " or ".join(found)
        case {"const": constant}:
            return code(json.dumps(constant))
        case {"enum": constants}:
            return " or ".join(code(json.dumps(one)) for one in constants)
        case {"type": "array", "items": items}:
            return f"list of {_kind(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"table of {_kind(values)}"
        case {"type": "object", "patternProperties": dict(patterns)}:
            return f"table of {' or '.join(_kind(values) for values in patterns.values())}"
        case {"type": str(name), **rest}:
            limits = [f"{word} {rest[key]:g}" for key, word in _LIMITS.items() if key in rest]
            return " ".join([{"object": "table"}.get(name, name), *limits])
    return "anything"
