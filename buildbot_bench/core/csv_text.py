"""Writes tables as comma-separated values that a spreadsheet reads without computing anything."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

# Spreadsheets take a cell that begins so for a formula; a DUT's last words may begin so.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The rows as RFC 4180 has it; texts that a spreadsheet would compute get a leading quote."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_harmless(value) for value in row] for row in rows)
    return text.getvalue()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
