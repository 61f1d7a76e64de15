"""Makes text from elsewhere harmless to a terminal; it does not know what the text says."""

from __future__ import annotations

import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Controls (escape sequences begin with one), invisible format characters (bidirectional overrides
# among them), lone surrogates (they cannot be printed), line and paragraph separators.
_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def clean_text(text: str) -> str:
    """The text with every harmful character replaced; newlines and tabs stay."""
    return "".join(
        REPLACEMENT if unicodedata.category(c) in _HARMFUL and c not in "\n\t" else c for c in text
    )


def clean_line(text: str, *, limit: int = 500) -> str:
    """The text as one harmless line of at most `limit` characters."""
    line = clean_text(" ".join(text[: 2 * limit].split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
