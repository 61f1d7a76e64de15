"""The layout of two captures' stacks as boxes, callers below callees.

A box is as wide as the mean of its two shares of the busy cycles, so that its callees fit above it.
Where the cost of a packet is known on both sides, the new shares are scaled by it. The flame graph
of one capture is the difference to itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from buildbot_bench.core.profile import Profile, ShareChange, share_change

ROOT = "all busy cycles"


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """One function in one place: where it stands, and its share in both captures.

    `depth` counts callers, 0 for the root. `left` and `width` are fractions of the root's width.
    `samples` are those of the new capture.
    """

    depth: int
    left: float
    width: float
    samples: int
    change: ShareChange


@dataclass(kw_only=True, slots=True)
class _Open:
    """A box whose last stack is still to come."""

    name: str
    left: float
    old: int = 0
    new: int = 0


def lay_out(old: Profile, new: Profile, *, cost: float = 1.0) -> tuple[Box, ...]:
    """The boxes of all stacks that are not idle, from the root upwards and from left to right.

    `cost` is what a packet costs in the new capture as a factor of what it costs in the old one.

    Callees stand in the order of their names, so that the same code stands in the same place in
    every picture.
    """
    layout = _Layout(old.busy_samples, new.busy_samples, cost)
    boxes = layout.sweep(_merged(old, new))
    return tuple(sorted(boxes, key=lambda box: (box.depth, box.left, box.change.name)))


def _merged(old: Profile, new: Profile) -> dict[tuple[str, ...], list[int]]:
    """The old and the new samples of each different stack."""
    merged: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    for side, profile in enumerate((old, new)):
        for stack in profile.busy:
            merged[ROOT, *stack.frames][side] += stack.samples
    return merged


class _Layout:
    """The totals that shares are of, and by what those of the new capture are scaled."""

    def __init__(self, old_busy: int, new_busy: int, cost: float) -> None:
        self._old_busy = old_busy
        self._new_busy = new_busy
        self._cost = cost

    def sweep(self, merged: dict[tuple[str, ...], list[int]]) -> Iterator[Box]:
        """Walk the sorted stacks: neighbours share the boxes of the frames that they share."""
        left = 0.0
        unfinished: list[_Open] = []
        for frames in sorted(merged):
            shared = _shared(unfinished, frames)
            yield from self._close(unfinished, shared)
            unfinished += [_Open(name=name, left=left) for name in frames[shared:]]
            old, new = merged[frames]
            for box in unfinished:
                box.old += old
                box.new += new
            left += self._width(old, new)
        yield from self._close(unfinished, 0)

    def _close(self, unfinished: list[_Open], keep: int) -> Iterator[Box]:
        """Finish all boxes but the lowest ones."""
        while len(unfinished) > keep:
            box = unfinished.pop()
            yield Box(
                depth=len(unfinished),
                left=box.left,
                width=self._width(box.old, box.new),
                samples=box.new,
                change=self._change(box),
            )

    def _change(self, box: _Open) -> ShareChange:
        old, new = (box.old, self._old_busy), (box.new, self._new_busy)
        return share_change(box.name, old=old, new=new, cost=self._cost)

    def _width(self, old: int, new: int) -> float:
        shares = old / max(self._old_busy, 1) + self._cost * new / max(self._new_busy, 1)
        return shares / (1 + self._cost)


def _shared(unfinished: Sequence[_Open], frames: Sequence[str]) -> int:
    """How many boxes, from the root, a stack has in common with the one before it."""
    pairs = zip(unfinished, frames, strict=False)
    return next(
        (depth for depth, (box, name) in enumerate(pairs) if box.name != name),
        min(len(unfinished), len(frames)),
    )
