"""The kinds of values in bench.yml: names, durations, percentages, patterns."""

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import PLAIN_BRANCH
from buildbot_bench.core.triggers import compile_pattern

Item = TypeVar("Item")

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$"
BRANCH_PATTERN = r"^!?[A-Za-z0-9_*\[][A-Za-z0-9._/*?+\[\]-]{0,199}$"
ANY_BRANCH_PATTERN = rf"^({NAME_PATTERN[1:-1]}:)?{PLAIN_BRANCH.pattern}$"
DURATION_PATTERN = r"^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$"
PERCENT_PATTERN = r"^(\d+(?:\.\d+)?) ?%$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
ADDRESS_PATTERN = r"^[^\s<>@]+@[^\s<>@]+$|^[^<>@\r\n]* <[^\s<>@]+@[^\s<>@]+>$"

SITE_PATTERN = r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$"
PLACE_PATTERN = r"^(s3\+)?https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._-]+)*/?$"

GITHUB_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$"

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

_WHAT_A_PATTERN_ASKS = {
    NAME_PATTERN: "be at most 50 letters, digits, '.', '_' and '-', not beginning with a sign",
    BRANCH_PATTERN: "be a branch or a pattern of GitHub's: main, stable/*, '!stable/9'",
    ANY_BRANCH_PATTERN: "be the name of one branch: main, releng/14.1, ports:main",
    VARIABLE_PATTERN: "be the name of an environment variable",
    GITHUB_PATTERN: "be OWNER/NAME: freebsd/freebsd-src",
    SITE_PATTERN: "be a site's URL: https://reviews.freebsd.org",
    PLACE_PATTERN: "be https://HOST/PATH or s3+https://HOST/BUCKET, without a password",
    ADDRESS_PATTERN: "be a mail address: bench@example.org or Bench <bench@example.org>",
}


def what_a_pattern_asks(pattern: str) -> str:
    """What a text that must match a pattern "should …", in words."""
    return _WHAT_A_PATTERN_ASKS.get(pattern, f"match {pattern}")


def _kebab(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


class Model(BaseModel):
    """A mapping of bench.yml: immutable, every key known, keys spelt as GitHub spells them."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=_kebab, use_attribute_docstrings=True
    )


def _listed(value: Any) -> Any:
    """GitHub takes a scalar wherever it takes a list; so do we."""
    return value if isinstance(value, list | tuple | dict) or value is None else [value]


class _ItemAlone:
    """Tells editors what `_listed` takes: the list, or an item of it."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        array = handler(schema)
        return {"anyOf": [array["items"], array]}


def _distinct(value: Any) -> Any:
    if isinstance(value, tuple) and len(set(value)) < len(value):
        raise ValueError("names the same thing twice")
    return value


def _fraction(value: Any) -> Any:
    """`2%` and 2 are 0.02; a bare 0.02 might mean either and is refused."""
    if isinstance(value, str) and (match := re.fullmatch(PERCENT_PATTERN, value)):
        return float(match[1]) / 100
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1:
        return value / 100
    raise ValueError(f"should be a percentage such as 2%, not {quoted(value)}")


def _seconds(value: Any) -> Any:
    if isinstance(value, str) and (match := re.fullmatch(DURATION_PATTERN, value)):
        return float(match[1]) * _SECONDS[match[2]]
    raise ValueError(f"should be a duration such as 500ms, 90s, 20m, 1h or 1d, not {quoted(value)}")


def _switch(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    raise ValueError(f"should be true or false, not {quoted(value)}")


def _asked(value: Any) -> Any:
    """None for any testbed, and no name for none."""
    if isinstance(value, bool):
        return None if value else ()
    return _listed(value)


def _variable_text(value: Any) -> Any:
    """What GitHub makes of a number or a truth value; 1.10 would become 1.1 and is refused."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case str() if "\0" not in value:
            return value
    raise ValueError(f"should be text: write '{value}' in quotes")


def checked(check: Callable[[str], object], what: str = "path pattern") -> AfterValidator:
    """Have what refuses a text by UsageError refuse it; `what` a text is there, in its words."""

    def refuse(value: str) -> str:
        try:
            check(value)
        except UsageError as error:
            raise ValueError(str(error).replace("path pattern", what)) from error
        return value

    return AfterValidator(refuse)


def alone(key: str, schema: Any) -> BeforeValidator:
    """Have a text stand for a mapping that has it behind a key, and nothing else."""
    return BeforeValidator(
        lambda value: {key: value} if isinstance(value, str) else value,
        json_schema_input_type=schema,
    )


def _path_pattern(value: str) -> None:
    bare = value.removeprefix("!")
    if not bare or bare.startswith("/"):
        raise ValueError(
            f"should name files from the repository's root, without '/': not {quoted(value)}"
        )
    compile_pattern(bare)


Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
BranchPattern = Annotated[
    str,
    StringConstraints(pattern=BRANCH_PATTERN),
    checked(lambda value: compile_pattern(value.removeprefix("!")), "pattern of branches"),
]
Site = Annotated[str, StringConstraints(pattern=SITE_PATTERN)]
Address = Annotated[str, StringConstraints(pattern=ADDRESS_PATTERN)]
Text = Annotated[str, StringConstraints(min_length=1)]
PathPattern = Annotated[Text, checked(_path_pattern)]

OneOrMore = Annotated[
    tuple[Item, ...],
    Field(min_length=1),
    BeforeValidator(_listed),
    _ItemAlone(),
    AfterValidator(_distinct),
]
_NAMED = {"type": "string", "pattern": NAME_PATTERN}
Fraction = Annotated[
    float,
    BeforeValidator(_fraction),
    Field(gt=0, lt=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": PERCENT_PATTERN},
                {"type": "number", "minimum": 1, "exclusiveMaximum": 100},
            ]
        }
    ),
]
Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN}),
]
Switch = Annotated[bool, BeforeValidator(_switch)]
Asked = Annotated[
    tuple[Name, ...] | None,
    BeforeValidator(_asked),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, _NAMED, {"type": "array", "items": _NAMED}]}),
]
Environment = dict[
    Annotated[str, StringConstraints(pattern=VARIABLE_PATTERN)],
    Annotated[
        str,
        BeforeValidator(_variable_text),
        WithJsonSchema({"type": ["string", "integer", "boolean", "null"]}),
    ],
]
