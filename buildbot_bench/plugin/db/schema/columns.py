"""The MetaData, constraint names and column types that the tables share.

The MetaData is our own, since Buildbot compares its own with the database. No foreign key leads to
Buildbot's tables: measurements outlive the builds that took them. The types of columns read alike
on SQLite and PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

STATE_LENGTH = 24


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
    """A JSON value kept as text: nothing is asked of it in SQL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Write None as NULL; json raises ValueError for NaN and infinities."""
        del dialect
        return None if value is None else json.dumps(value, allow_nan=False)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Read what was written."""
        del dialect
        return None if value is None else json.loads(value)


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


DIGEST_LENGTH = 64

METADATA = sa.MetaData(
    naming_convention={
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fk",
    }
)


def version() -> sa.Column[int]:
    """How often a row was changed, for compare-and-swap."""
    return sa.Column("version", sa.Integer, nullable=False, default=0)


class StoredValue(sa.TypeDecorator[Any]):
    """A frozen dataclass kept as JSON text: `decode` makes it of what json.loads gives."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, decode: Callable[[Any], Any]) -> None:
        super().__init__()
        self.decode = decode

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Write None as NULL; json raises ValueError for NaN and infinities."""
        del dialect
        return None if value is None else json.dumps(asdict(value), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """Read what was written."""
        del dialect
        return None if value is None else self.decode(json.loads(value))
