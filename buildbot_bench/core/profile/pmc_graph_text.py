"""A capture in the format of `pmcstat -G`.

pmcstat, and tools that read its files, count a stack by its outermost caller, so a stack that is
the end of a longer one has a block of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from buildbot_bench.core.profile.model import Profile

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
    """The paths by their leaf, most samples first."""
    by_name: dict[str, list[_Path]] = {}
    for path in paths:
        by_name.setdefault(path[0][0], []).append(path)
    blocks: list[list[_Path]] = []
    for same in by_name.values():
        inner, ended = _divided(same)
        blocks += [[path] for path in ended]
        if inner:
            blocks.append(inner)
    yield from sorted(blocks, key=_samples, reverse=True)


def _divided(paths: Sequence[_Path]) -> tuple[list[_Path], list[_Path]]:
    """Those that no other one goes on from, and those that are the end of a longer one."""
    longer = {frames[:length] for frames, _ in paths for length in range(1, len(frames))}
    inner = [path for path in paths if path[0] not in longer]
    return inner, [path for path in paths if path[0] in longer]


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
