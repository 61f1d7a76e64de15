"""A capture as text: folded stacks, `pmcstat -G`'s format, and gprof(1)'s call graph.

Samples stand for gprof's seconds; a function that calls itself counts once in each stack.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.profile.model import Profile, Stack

_RULE = "-----------------------------------------------"
_HEADING = "index  % time       self   children     name"


@dataclass(kw_only=True, slots=True)
class _Counted:
    """Samples by function, and by pair of caller and callee."""

    own: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs_own: Counter[tuple[str, str]] = field(default_factory=Counter)
    callers: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    called: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


def format_gprof(profile: Profile) -> str:
    """The call graph, the functions with the most samples below them first."""
    counted = _count(profile)
    total = profile.samples
    names = sorted(counted.whole, key=lambda name: (-counted.whole[name], name))
    index = {name: number for number, name in enumerate(names, start=1)}
    lines = [f"Call graph, in samples of {profile.event or 'an unknown event'}", ""]
    lines += [f"granularity: each sample is {100 / total if total else 0:.4f}% of {total}", ""]
    lines += [_HEADING]
    for name in names:
        lines += [*_entry(name, counted, index, total), _RULE]
    return "\n".join(lines) + "\n"


def _count(profile: Profile) -> _Counted:
    counted = _Counted()
    for stack in profile.stacks:
        counted.own[stack.leaf] += stack.samples
        for name in set(stack.frames):
            counted.whole[name] += stack.samples
        for pair in set(pairwise(stack.frames)):
            counted.pairs[pair] += stack.samples
        if len(stack.frames) > 1:
            counted.pairs_own[stack.frames[-2], stack.frames[-1]] += stack.samples
    for pair in counted.pairs:
        counted.called.setdefault(pair[0], []).append(pair)
        counted.callers.setdefault(pair[1], []).append(pair)
    return counted


def _entry(name: str, counted: _Counted, index: dict[str, int], total: int) -> Iterator[str]:
    callers, called = counted.callers.get(name, []), counted.called.get(name, [])
    if not callers:
        yield f"{'':36}     <spontaneous>"
    for pair in sorted(callers, key=lambda pair: (counted.pairs[pair], pair)):
        yield _line(pair, pair[0], counted, index)
    own, whole = counted.own[name], counted.whole[name]
    share = 100 * whole / total if total else 0.0
    yield f"{f'[{index[name]}]':6} {share:6.1f} {own:10} {whole - own:10} {name} [{index[name]}]"
    for pair in sorted(called, key=lambda pair: (-counted.pairs[pair], pair)):
        yield _line(pair, pair[1], counted, index)


def _line(pair: tuple[str, str], name: str, counted: _Counted, index: dict[str, int]) -> str:
    own = counted.pairs_own[pair]
    return f"{'':13} {own:10} {counted.pairs[pair] - own:10}     {name} [{index[name]}]"


_LINE = re.compile(r"(\S+) ([0-9]{1,15})")


def symbol_name(text: str) -> str:
    """A function's name without what separates names from each other and from their count."""
    return "_".join(text.replace(";", ":").split())


def format_folded(profile: Profile) -> str:
    """All stacks, idle ones included, in the profile's order; each line ends in a newline."""
    return "".join(f"{';'.join(stack.frames)} {stack.samples}\n" for stack in profile.stacks)


def parse_folded(lines: Iterable[str], *, source: str) -> Profile:
    """Read what `format_folded` wrote, which names no event; `source` names it in complaints."""
    stacks: list[Stack] = []
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line.rstrip())
        frames = tuple(match[1].split(";")) if match else ()
        if match is None or not all(frames):
            raise UsageError(
                f"{source}:{number}: {quoted(line.rstrip())} is no folded stack",
                hint="a line reads root;caller;leaf COUNT",
            )
        stacks.append(Stack(frames=frames, samples=int(match[2])))
    if not stacks:
        raise UsageError(f"{source}: holds no stack", hint="a line reads root;caller;leaf COUNT")
    return Profile(stacks=tuple(stacks))


# pmcstat, and tools that read its files, count a stack by its outermost caller, so a stack that
# is the end of a longer one has a block of its own.
_DEEPEST = 128  # frames from the leaf on that are written; hwpmc keeps no longer call chains
_Path = tuple[tuple[str, ...], int]  # frames, leaf first, and samples


def format_pmc_graph(profile: Profile) -> str:
    """The text of a `.pmc.graph`; `parse_pmc_graph` reads the same merged profile back from it."""
    merged = profile.merged()
    paths = [(stack.frames[: -_DEEPEST - 1 : -1], stack.samples) for stack in merged.stacks]
    lines = [f"@ {merged.event or 'samples'} [{merged.samples} samples]", ""]
    for block in _blocks(paths):
        lines += [*_block(block, 0, merged.samples), ""]
    return "\n".join(lines)


def _blocks(paths: Sequence[_Path]) -> Iterator[list[_Path]]:
    by_name: dict[str, list[_Path]] = {}
    for path in paths:
        by_name.setdefault(path[0][0], []).append(path)
    blocks: list[list[_Path]] = []
    for same in by_name.values():
        longer = {frames[:length] for frames, _ in same for length in range(1, len(frames))}
        blocks += [[path] for path in same if path[0] in longer]
        if inner := [path for path in same if path[0] not in longer]:
            blocks.append(inner)
    yield from sorted(blocks, key=_samples, reverse=True)


def _block(paths: Sequence[_Path], depth: int, whole: int) -> Iterator[str]:
    samples = _samples(paths)
    share = 100 * samples / whole if whole else 0.0
    percent = f"{share:05.2f}%" if share < 99.995 else "100.0%"  # noqa: PLR2004 - what is 100.0
    yield f"{' ' * depth}{percent}  [{samples}]{' ' * 6}{paths[0][0][depth]}"
    longer = [path for path in paths if len(path[0]) > depth + 1]
    groups: dict[str, list[_Path]] = {}
    for path in longer:
        groups.setdefault(path[0][depth + 1], []).append(path)
    for group in sorted(groups.values(), key=_samples, reverse=True):
        yield from _block(group, depth + 1, samples)


def _samples(paths: Sequence[_Path]) -> int:
    return sum(samples for _, samples in paths)


# hwpmc keeps no longer call chains (PMC_CALLCHAIN_DEPTH_MAX): what is deeper is no capture.
_DEEPEST_GRAPH = 512

_SECTION = re.compile(r"@ (\S+) \[([0-9]{1,15}) samples\]")
_GRAPH_LINE = re.compile(r"( *)[0-9.]{1,8}% +\[([0-9]{1,15})\] +(\S.*)")
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
        elif line := _GRAPH_LINE.fullmatch(text):
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
        if depth > min(len(self._open), _DEEPEST_GRAPH):
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
