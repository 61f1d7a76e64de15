"""What a farm lived through, written at once into the empty tables of the next farm of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema import METADATA
from tests.databases import COUNTS

# A lease runs out by the clock of the day.
_NOT_KEPT = {COUNTS, "bench_lease"}
_NEXT_NUMBER = "SELECT setval(pg_get_serial_sequence('{0}', 'id'), max(id)) FROM {0}"


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """The rows of all tables, and how long it took by the farm's clock until they were there."""

    rows: dict[str, list[dict[str, Any]]]
    lasted_s: float

    @classmethod
    def of(cls, engine: sa.Engine, lasted_s: float) -> Remembered:
        with engine.connect() as conn:
            rows = {
                table.name: [dict(row) for row in conn.execute(sa.select(table)).mappings()]
                for table in METADATA.sorted_tables
                if table.name not in _NOT_KEPT
            }
        return cls(rows=rows, lasted_s=lasted_s)

    def write(self, engine: sa.Engine) -> None:
        """Put the rows into the empty tables of another farm; its next ones follow them."""
        with engine.begin() as conn:
            for name, rows in self.rows.items():
                if not rows:
                    continue
                table = METADATA.tables[name]
                conn.execute(sa.insert(table), rows)
                if engine.dialect.name == "postgresql" and table.autoincrement_column is not None:
                    conn.execute(sa.text(_NEXT_NUMBER.format(name)))
