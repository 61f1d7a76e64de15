"""All iterations of a testbed and workload as comma-separated values, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from dataclasses import fields

from buildbot_bench.plugin.db.series import ExportRow
from buildbot_bench.plugin.farm import Farm

# Spreadsheets take a cell that begins so for a formula; a DUT's last words may begin so.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = [field.name for field in fields(ExportRow)]


async def samples_csv(farm: Farm, testbed: str, workload: str) -> str:
    """One line an iteration, under a line that names the columns."""
    return as_csv(await farm.store.export(testbed, workload, farm.branch))


def as_csv(rows: list[ExportRow]) -> str:
    """The rows as RFC 4180 has it; texts that a spreadsheet would compute get a leading quote."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    writer.writerows([_harmless(getattr(row, name)) for name in _COLUMNS] for row in rows)
    return text.getvalue()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
