"""The tables that a SQL statement reads, found from its expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import functions, visitors
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.elements import ColumnClause, TextClause
from sqlalchemy.sql.selectable import (
    CTE,
    Alias,
    CompoundSelect,
    FromClause,
    FromGrouping,
    Join,
    Select,
    Subquery,
)

_ROWS = (sa.Table, Join, Alias, Subquery, CTE, FromGrouping, Select, CompoundSelect)
# What these give follows from their arguments.
_PLAIN = frozenset({"abs", "coalesce", "count", "length", "lower", "max", "min", "sum", "upper"})
# A condition, `state IN ('lost')`: no function, no query within.
_CALL = re.compile(r"(\w+)\s*\(")
_QUERY = re.compile(r"\b(select|from|join|table|with|values|current_\w+)\b", re.IGNORECASE)


def tables_read(statement: object) -> frozenset[sa.Table] | None:
    """The tables of a SELECT, wherever in it they stand; None when there may be others."""
    if not isinstance(statement, Select | CompoundSelect):
        return None
    found: set[sa.Table] = set()
    for part in _parts(statement):
        if not _is_plain(part):
            return None
        if isinstance(part, sa.Table):
            found.add(part)
        elif isinstance(part, ColumnClause) and isinstance(part.table, sa.Table):
            found.add(part.table)
    return frozenset(found)


def _parts(statement: Select[Any] | CompoundSelect[Any]) -> Iterator[object]:
    return iter(visitors.iterate(statement))


def _is_plain(part: object) -> bool:
    match part:
        case TextClause():
            return _is_condition(part.text)
        case ColumnClause(is_literal=True):
            return _is_condition(part.name)
        case functions.FunctionElement():
            return part.name.lower() in _PLAIN and type(part).__module__ == functions.__name__
        case UpdateBase():
            return False
        case FromClause():
            return isinstance(part, _ROWS)
        case _:
            return True


def _is_condition(text: str) -> bool:
    calls = {name.lower() for name in _CALL.findall(text)} - {"in", "and", "or", "not"}
    return not calls and not _QUERY.search(text)
