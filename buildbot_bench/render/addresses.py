"""The address of a farm's glossary, derived from the address of one of its pages."""

from __future__ import annotations

PAGE = "plugins/bench/glossary.html"
"""Where the page lies beneath the master's address."""

_PAGES = "#/bench"  # behind the master's address, in that of each page of a farm


def glossary_url(page: str | None) -> str:
    """Where the glossary of a farm is, by the address of one of its pages.

    Empty when there is no such address: a search without a farm has none.
    """
    master, found, _ = (page or "").partition(_PAGES)
    return f"{master}{PAGE}" if found else ""
