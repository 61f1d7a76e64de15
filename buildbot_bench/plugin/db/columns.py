"""The columns of the bench_* tables, derived from the annotated fields of their rows.

A row is a frozen dataclass: `table` makes its table, `table_of` gives it. The MetaData is our own,
since Buildbot compares its own with the database. No foreign key leads to Buildbot's tables:
measurements outlive the builds that took them. The types of columns read alike on SQLite and
PostgreSQL.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy.sql.schema import SchemaItem

from buildbot_bench.core.json_model import from_json
from buildbot_bench.core.revision import SHA_LENGTH

STATE_LENGTH = 24
DIGEST_LENGTH = 64

METADATA = sa.MetaData(
    naming_convention={
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fk",
    }
)


class HostileText(sa.TypeDecorator[str]):
    """Text from outside: commit messages, log lines.

    PostgreSQL refuses NUL and neither database takes a lone surrogate; both become U+FFFD, so
    that no commit message can stop a commit from being recorded.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Replace what a database would refuse."""
        del dialect
        if value is None:
            return None
        return (
            value.replace("\0", "\ufffd")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16", "replace")
        )


class JsonText(sa.TypeDecorator[Any]):
    """A JSON value kept as text: nothing is asked of it in SQL.

    Of a `kind` it is a frozen dataclass.
    """

    impl = sa.Text
    cache_ok = True

    def __init__(self, kind: type | None = None) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Write None as NULL; json raises ValueError for NaN and infinities."""
        del dialect
        if value is None:
            return None
        return json.dumps(value if self.kind is None else asdict(value), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Read what was written."""
        del dialect
        if value is None:
            return None
        stored = json.loads(value)
        return stored if self.kind is None else from_json(self.kind, stored)


def choice(kind: type[StrEnum]) -> sa.Enum:
    """One of an enumeration's values, kept as text and checked before it is written.

    There is no CHECK constraint: a new state would mean a rebuilt table on SQLite.
    """
    return sa.Enum(
        kind,
        native_enum=False,
        create_constraint=False,
        length=STATE_LENGTH,
        validate_strings=True,
        values_callable=lambda members: [member.value for member in members],
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What the Python type of a field does not say of its column.

    `refers` is the table whose id it is. An insert that leaves the column out gets `default`.
    """

    type: sa.types.TypeEngine[Any] | None = None
    refers: str = ""
    default: Any = None


Sha = Annotated[str, Kept(type=sa.String(SHA_LENGTH))]
Digest = Annotated[str, Kept(type=sa.String(DIGEST_LENGTH))]
Word = Annotated[str, Kept(type=sa.String(STATE_LENGTH))]
Large = Annotated[int, Kept(type=sa.BigInteger())]
Count = Annotated[int, Kept(default=0)]
Flag = Annotated[bool, Kept(default=False)]
ImageId = Annotated[int, Kept(refers="bench_image")]
IterationId = Annotated[int, Kept(refers="bench_iteration")]
ProbeId = Annotated[int, Kept(refers="bench_probe")]
JudgementId = Annotated[int, Kept(refers="bench_judgement")]
SearchId = Annotated[int, Kept(refers="bench_search")]
AbTestId = Annotated[int, Kept(refers="bench_ab_test")]
ValueNamesId = Annotated[int, Kept(refers="bench_value_names")]

_TYPES: dict[Any, type[sa.types.TypeEngine[Any]]] = {
    bool: sa.Boolean,
    bytes: sa.LargeBinary,
    float: sa.Double,
    int: sa.Integer,
    str: HostileText,
}
_tables: dict[type, sa.Table] = {}


def table(
    name: str,
    row: type,
    *keys: SchemaItem,
    given: Collection[str] = (),
    apart: Collection[str] = (),
) -> sa.Table:
    """Make the table of a row, with these keys and indexes.

    A field's default is that of its column, unless every insert has it `given`. Fields kept
    `apart`, in another table, have no column.
    """
    columns = [one for one in _columns(row, given) if one.name not in apart]
    columns.sort(key=lambda one: not one.primary_key)
    made = _tables[row] = sa.Table(name, METADATA, *columns, *keys)
    return made


def table_of(row: type) -> sa.Table:
    """Return the table whose columns are the fields of a row."""
    return _tables[row]


def _columns(row: type, given: Collection[str]) -> Iterator[sa.Column[Any]]:
    hints = get_type_hints(row, include_extras=True)
    for field in fields(row):
        default = None if field.default is MISSING or field.name in given else field.default
        yield _column(field.name, hints[field.name], default)


def _column(name: str, hint: Any, default: Any) -> sa.Column[Any]:
    members = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    is_nullable = NoneType in members or hint is Any
    kind = next(one for one in members if one is not NoneType)
    kept = Kept()
    if get_origin(kind) is Annotated:
        kind, kept = get_args(kind)
    return sa.Column(
        name,
        kept.type or _type_of(kind),
        *([sa.ForeignKey(f"{kept.refers}.id")] if kept.refers else ()),
        primary_key=name == "id",
        nullable=is_nullable,
        default=kept.default,
        server_default=_clause(default),
    )


def _type_of(kind: Any) -> sa.types.TypeEngine[Any]:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choice(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return JsonText(kind)
    return _TYPES.get(kind, JsonText)()


def _clause(default: Any) -> Any:
    if isinstance(default, bool):
        return sa.true() if default else sa.false()
    return None if default is None else str(default)
