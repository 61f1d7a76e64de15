"""Small parts of MyST text: tables, code spans and plain words."""

import re
from collections.abc import Iterable, Sequence

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|$])")


def plain(text: str) -> str:
    """Words in which no sign means anything; code that stands in backticks stays code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        part if number % 2 else _ACTIVE.sub(r"\\\1", part) for number, part in enumerate(parts)
    )


def code(text: str) -> str:
    """A code span, also within a table."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are MyST already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell or " " for cell in line) + " |" for line in lines)
