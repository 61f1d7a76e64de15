"""The reader of call graphs that `pmcstat -G` writes.

A file has one section for each CPU, and a section one block for each function that was running:

    @ BU_CPU_CLK_UNHALTED [245188 samples]

    00.58%  [322]      lock_delay @ /boot/kernel/kernel
     99.69%  [321]       _mtx_lock_spin_cookie
      100.0%  [321]        pmclog_reserve @ /boot/kernel/hwpmc.ko
     00.31%  [1]         __mtx_lock_sleep

A caller stands below what it called, indented by one blank more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.profile.formats import symbol_name
from buildbot_bench.core.profile.model import Profile, Stack

# hwpmc keeps no longer call chains (PMC_CALLCHAIN_DEPTH_MAX): what is deeper is no capture.
_DEEPEST = 512

_SECTION = re.compile(r"@ (\S+) \[([0-9]{1,15}) samples\]")
_LINE = re.compile(r"( *)[0-9.]{1,8}% +\[([0-9]{1,15})\] +(\S.*)")
_OBJECT = " @ "
_TRAILER = "CONVERSION STATISTICS"


def parse_pmc_graph(lines: Iterable[str], *, source: str) -> Profile:
    """The stacks of a whole `.pmc.graph`, in its order; `source` names it in complaints.

    A stack has the count of its outermost caller, as the archive's folded files have: samples of
    which pmcstat names no caller while it names one for others of the same function are left out.
    Raises UsageError, with the line, for what pmcstat does not write: a cut file is such.
    """
    reader = _Reader(source)
    for number, line in enumerate(lines, start=1):
        if line.startswith(_TRAILER):
            break
        if text := line.rstrip():
            reader.take(text, number)
    return reader.profile()


class _Reader:
    """What was read so far: whole stacks, and the one that the last lines belong to."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._event = ""
        self._stacks: list[Stack] = []
        self._open: list[str] = []  # leaf first
        self._samples = 0  # of the last line
        self._section_line = 0
        self._announced = 0
        self._found = 0

    def take(self, text: str, number: int) -> None:
        if section := _SECTION.fullmatch(text):
            self._end_section()
            self._begin_section(section[1], int(section[2]), number)
        elif line := _LINE.fullmatch(text):
            name = line[3].partition(_OBJECT)[0]
            self._frame(len(line[1]), int(line[2]), symbol_name(name), number)
        else:
            raise self._error(number, f"{quoted(text)} is no line of pmcstat -G")

    def profile(self) -> Profile:
        self._end_section()
        if not self._section_line:
            raise UsageError(
                f"{self._source}: holds no section of pmcstat -G, which begins with '@ EVENT'",
                hint="make it with pmcstat -R FILE -z16 -G OUTPUT",
            )
        return Profile(stacks=tuple(self._stacks), event=self._event)

    def _begin_section(self, event: str, announced: int, number: int) -> None:
        if self._section_line and event != self._event:
            raise self._error(
                number, f"counts {quoted(event)} after {quoted(self._event)}", "capture one event"
            )
        self._event, self._announced, self._section_line = event, announced, number
        self._found = 0

    def _frame(self, depth: int, samples: int, name: str, number: int) -> None:
        if not self._section_line:
            raise self._error(number, "stands before the first section")
        if depth > min(len(self._open), _DEEPEST):
            raise self._error(number, f"is indented by {depth}, after {len(self._open)} frames")
        if depth == 0:
            self._found += samples
        if depth < len(self._open):
            self._end_stack()
        del self._open[depth:]
        self._open.append(name)
        self._samples = samples

    def _end_stack(self) -> None:
        if self._open:
            self._stacks.append(Stack(frames=tuple(reversed(self._open)), samples=self._samples))

    def _end_section(self) -> None:
        self._end_stack()
        self._open.clear()
        if self._found != self._announced:
            raise self._error(
                self._section_line,
                f"announces {self._announced} samples, of which {self._found} follow",
            )

    def _error(
        self, number: int, what: str, hint: str = "is the file cut? copy it from the DUT again"
    ) -> UsageError:
        return UsageError(f"{self._source}:{number}: {what}", hint=hint)
