"""A capture as the call graph that gprof(1) prints: callers and callees of each function.

Samples stand for gprof's seconds; a function that calls itself counts once in each stack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from buildbot_bench.core.profile.model import Profile

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
