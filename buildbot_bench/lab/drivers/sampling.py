"""Captures of the embedded testbed, read from the samples that sampler.c wrote."""

import re
import shutil
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.model import Profile, Stack
from buildbot_bench.programs import answer_of

SAMPLE_FRAMES = 24  # DEPTH of sampler.c
_MOST = 16384  # samples that a file has room for
_SAMPLE = struct.Struct(f"={1 + SAMPLE_FRAMES}Q")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ +(/.*)")
_SYMBOL = re.compile(r"([0-9a-f]+) ([0-9a-f]+) [tTwWiu] (\S+)")
_SHARED = 3  # ELF's e_type of what may be loaded anywhere
_NM_S = 30.0  # for nm(1), on a machine however busy
_COUNTER = "processor-time"


def can_name() -> bool:
    """Whether this system has what it takes to tell addresses' names."""
    return shutil.which("nm") is not None and Path("/proc/self/maps").exists()


def make_room(path: Path) -> None:
    """An empty file for the sampler, of the size that it wants."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(_MOST * _SAMPLE.size)


def count_samples(path: Path) -> int:
    """How many samples a sampler's file has so far; InfraError when the program cut it."""
    return sum(1 for _ in _chains(path.read_bytes()))


def read_capture(path: Path, maps: str) -> Profile:
    """The capture in a sampler's file; `maps` is /proc/PID/maps of the program as it ran."""
    places = _Places(maps)
    counts = Counter(
        tuple(places.name(address) for address in reversed(chain))
        for chain in _chains(path.read_bytes())
    )
    stacks = (Stack(frames=frames, samples=count) for frames, count in sorted(counts.items()))
    return Profile(stacks=tuple(stacks), event=_COUNTER)


def _chains(data: bytes) -> Iterator[tuple[int, ...]]:
    """The addresses of each sample, innermost first; callers' are of the instruction after."""
    if len(data) % _SAMPLE.size:
        raise InfraError(f"the file of samples has {len(data)} bytes: the program changed its size")
    for depth, *frames in _SAMPLE.iter_unpack(data):
        if not depth:
            return
        inner, *callers = frames[: min(depth, SAMPLE_FRAMES)]
        yield (inner, *(caller - 1 for caller in callers))


class _Places:
    """What is mapped where in a process, and the names of its functions."""

    def __init__(self, maps: str) -> None:
        self._ranges: list[tuple[int, int, Path]] = []
        self._base: dict[Path, int] = {}
        self._tables: dict[Path, tuple[_Symbol, ...]] = {}
        for match in _MAPPING.finditer(maps):
            start, end, offset = (int(match[group], 16) for group in (1, 2, 3))
            path = Path(match[4].removesuffix(" (deleted)"))
            self._ranges.append((start, end, path))
            self._base.setdefault(path, start - offset)

    def name(self, address: int) -> str:
        """The function at an address, the file where it has no name, or where nothing is known."""
        for start, end, path in self._ranges:
            if start <= address < end:
                relative = address - self._base[path] if _is_shared(path) else address
                if path not in self._tables:
                    self._tables[path] = _symbols(path)
                symbols = self._tables[path]
                index = bisect_right(symbols, relative, key=lambda symbol: symbol.start) - 1
                if index >= 0 and relative < symbols[index].end:
                    return symbols[index].name
                return f"[{path.name}]"
        return "[unknown]"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Symbol:
    start: int
    end: int
    name: str


def _symbols(path: Path) -> tuple[_Symbol, ...]:
    """A file's functions by address; of one that was stripped those that it exports."""
    for options in (["-n", "-S"], ["-n", "-S", "-D"]):
        found = []
        told = answer_of(["nm", *options, "--", str(path)], deadline_s=_NM_S).stdout
        for match in _SYMBOL.finditer(told):
            start, size = int(match[1], 16), int(match[2], 16)
            found.append(_Symbol(start=start, end=start + size, name=match[3].partition("@")[0]))
        if found:
            return tuple(found)
    return ()


def _is_shared(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(18)
    return int.from_bytes(head[16:18], "little") == _SHARED
