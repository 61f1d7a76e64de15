"""The display of what goes on: lines for a file, a pipe or a plain terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TextIO, TypeVar

Seen = TypeVar("Seen")
Seen_contra = TypeVar("Seen_contra", contravariant=True)


class View(Protocol[Seen_contra]):
    """Where something is shown while one waits for it."""

    def show(self, seen: Seen_contra) -> None:
        """Show it as it stands now."""

    def notice(self, message: str) -> None:
        """Something that a person should know, said once."""


class LineView(Generic[Seen]):
    """A view that prints the lines that `new` gives for each state: those not given before."""

    def __init__(self, stream: TextIO, new: Callable[[Seen], Iterable[str]]) -> None:
        self._stream, self._new = stream, new

    def show(self, seen: Seen) -> None:
        """Print what is new."""
        for line in self._new(seen):
            self.notice(line)

    def notice(self, message: str) -> None:
        """Print it as a line of its own."""
        print(message, file=self._stream, flush=True)
