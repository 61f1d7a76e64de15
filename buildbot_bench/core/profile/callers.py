"""The restoration of outer callers that a capture cut off.

pmcstat keeps the innermost frames only (`-z16`: sixteen). Where a change makes call chains shorter,
more of them are whole, and unchanged code would seem to have moved.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from buildbot_bench.core.profile.model import Profile, Stack

CALLCHAIN_DEPTH = 16  # frames; that of `pmcstat -z16`, as the archive's captures were made

# How many frames may be needed to tell where a cut stack belongs: a function that is called
# from several places is known by what it calls in turn.
_LONGEST_CLUE = 4

# Whole stacks agree when all but this part of their samples have the same callers: an interrupt
# during a function's prologue gives a stray stack now and then.
_STRAY = 0.01

_Frames = tuple[str, ...]
_Callers = dict[_Frames, Counter[_Frames]]


def restore_callers(*profiles: Profile, depth: int = CALLCHAIN_DEPTH) -> tuple[Profile, ...]:
    """The same profiles, each cut stack lengthened by the callers that whole ones have there.

    A stack of at least `depth` frames may be cut. It is left as it is where the whole stacks of
    all the profiles, which serve as evidence together, have no callers or do not agree on them.
    """
    known = _known_callers(profiles, depth)
    return tuple(
        replace(profile, stacks=tuple(_restored(stack, known, depth) for stack in profile.stacks))
        for profile in profiles
    )


def _known_callers(profiles: tuple[Profile, ...], depth: int) -> _Callers:
    """Which callers the beginnings of cut stacks have in whole ones, weighed by samples."""
    stacks = [stack for profile in profiles for stack in profile.stacks]
    cut = {stack.frames for stack in stacks if len(stack.frames) >= depth}
    clues = {frames[:length] for frames in cut for length in range(1, _LONGEST_CLUE + 1)}
    outermost = {frames[0] for frames in cut}
    known: _Callers = defaultdict(Counter)
    for stack in stacks:
        if len(stack.frames) >= depth:
            continue
        for start, name in enumerate(stack.frames):
            if name not in outermost:
                continue
            for length in range(1, _LONGEST_CLUE + 1):
                run = stack.frames[start : start + length]
                if len(run) == length and run in clues:
                    known[run][stack.frames[:start]] += stack.samples
    return known


def _restored(stack: Stack, known: _Callers, depth: int) -> Stack:
    if len(stack.frames) < depth:
        return stack
    for length in range(1, _LONGEST_CLUE + 1):
        callers = known.get(stack.frames[:length])
        if callers is None:
            return stack
        [(likeliest, samples)] = callers.most_common(1)
        if samples >= (1 - _STRAY) * callers.total():
            return replace(stack, frames=likeliest + stack.frames)
    return stack
