"""The writer and the reader of folded stacks, one `root;caller;leaf COUNT` a line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.profile.model import Profile, Stack

_LINE = re.compile(r"(\S+) ([0-9]{1,15})")


def symbol_name(text: str) -> str:
    """A function's name without what separates names from each other and from their count."""
    return "_".join(text.replace(";", ":").split())


def format_folded(profile: Profile) -> str:
    """All stacks, idle ones included, in the profile's order; each line ends in a newline."""
    return "".join(f"{';'.join(stack.frames)} {stack.samples}\n" for stack in profile.stacks)


def parse_folded(lines: Iterable[str], *, source: str) -> Profile:
    """Read what `format_folded` wrote; `source` names it in complaints.

    Folded stacks do not tell which event was counted.

    Raises:
        UsageError: For anything else, with the line, and for a text without a stack.
    """
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
