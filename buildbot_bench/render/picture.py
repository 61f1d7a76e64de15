"""A picture that goes with a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A PNG, the name by which the HTML finds it, and what it shows in words.

    `name` is letters, digits and signs of a file's name; `alternative` is for who sees no picture.
    """

    name: str
    png: bytes
    alternative: str

    @property
    def content_id(self) -> str:
        """The Content-ID without its angle brackets; unique within one mail, which is enough."""
        return f"{self.name}@bench.invalid"
