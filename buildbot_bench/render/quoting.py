"""Text quoted for Markdown as GitHub and Phabricator read it.

Both sites link, mention and embed words that look like it, and only code spans are safe in both
(Phabricator takes no backslash), so a text that could be more than words becomes a code span.
"""

from __future__ import annotations

import re

_MORE_THAN_WORDS = re.compile(r"[`\[\]{}@#!|&\\*~]|://|<[A-Za-z/!?]|^>")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9._~:/?#=&%+-]+")
_BACKTICKS = re.compile(r"`+")


def code(text: str) -> str:
    """A code span that holds any one line; a backtick, which would end it, becomes a quote."""
    return f"`{text.replace('`', chr(39))}`"


def cell(text: str) -> str:
    """The same in a table, where GitHub sees a column's end even in a code span."""
    return code(text.replace("|", "/"))


def prose(text: str) -> str:
    """A sentence as it is, or as a code span when it holds more than words and figures."""
    return code(text) if _MORE_THAN_WORDS.search(text) else text


def link(text: str) -> str:
    """A web address as it is, so that it becomes a link; a code span for all else."""
    return text if _ADDRESS.fullmatch(text) else code(text)


def fence(text: str) -> str:
    """A block of lines as they are, between fences longer than any in it."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"
