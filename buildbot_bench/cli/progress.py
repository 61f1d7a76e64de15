"""The display of a running search as lines, one for each probe."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self, TextIO

from buildbot_bench.cli.answers import RemoteProbe, RemoteSearch
from buildbot_bench.cli.wording import (
    probe_line,
    range_text,
    suspects_text,
    what_is_searched,
)


class Display(Protocol):
    """Where a search is shown while one waits for it; entered before, left after."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None: ...

    def show(self, search: RemoteSearch, probes: Sequence[RemoteProbe]) -> None:
        """The search as it stands now; called after every look at the farm."""

    def notice(self, message: str) -> None:
        """Something that a person should know, said once."""


class LineDisplay:
    """For a file, a pipe, a plain terminal: every ended probe is one line, once."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._announced = False
        self._shown: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        pass

    def show(self, search: RemoteSearch, probes: Sequence[RemoteProbe]) -> None:
        """Print what ended since the last time."""
        if not self._announced:
            self._announced = True
            span = range_text(search.old.label, search.new.label, search.commits)
            self.notice(f"search {search.search_id}: {span}: {what_is_searched(search)}")
        ended = [p for p in probes if p.ended and p.probe_id not in self._shown]
        for probe in sorted(ended, key=lambda p: p.serial):
            self._shown.add(probe.probe_id)
            # The suspects are those of now: they follow from the last probe, not from earlier ones.
            suspects = suspects_text(search.suspects) if probe.serial == _last(ended) else ""
            self.notice(probe_line(probe) + (f"  ({suspects})" if suspects else ""))

    def notice(self, message: str) -> None:
        """Print it as a line of its own."""
        print(message, file=self._stream, flush=True)


def _last(probes: Sequence[RemoteProbe]) -> int:
    return max(probe.serial for probe in probes)
