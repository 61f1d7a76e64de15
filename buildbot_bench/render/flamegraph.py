"""Flame graphs as SVG with search and zoom of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from buildbot_bench.core.legible import one_line, shorten
from buildbot_bench.core.profile.functions import (
    CALLCHAIN_DEPTH,
    ShareChange,
    restore_callers,
    share_change,
)
from buildbot_bench.core.profile.model import MOSTLY_IDLE, Profile
from buildbot_bench.render.environment import rendered

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
    depth: int
    left: float
    old: int = 0
    new: int = 0


def lay_out(old: Profile, new: Profile, *, cost: float = 1.0) -> tuple[Box, ...]:
    """The boxes of all stacks that are not idle, from the root upwards and from left to right.

    `cost` is what a packet costs in the new capture as a factor of what it costs in the old one.
    Callees stand in the order of their names, so that the same code stands in the same place in
    every picture.
    """
    merged: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    for side, profile in enumerate((old, new)):
        for stack in profile.busy:
            merged[ROOT, *stack.frames][side] += stack.samples
    of = old.busy_samples, new.busy_samples
    boxes = (_closed(box, of, cost) for box in _sweep(merged, of, cost))
    return tuple(sorted(boxes, key=lambda box: (box.depth, box.left, box.change.name)))


def _sweep(
    merged: Mapping[tuple[str, ...], Sequence[int]], of: tuple[int, int], cost: float
) -> Iterator[_Open]:
    """Walk the sorted stacks: neighbours share the boxes of the frames that they share."""
    left = 0.0
    unfinished: list[_Open] = []
    for frames in sorted(merged):
        pairs = enumerate(zip(unfinished, frames, strict=False))
        shared = next(
            (depth for depth, (box, name) in pairs if box.name != name),
            min(len(unfinished), len(frames)),
        )
        yield from unfinished[shared:]
        del unfinished[shared:]
        unfinished += [
            _Open(name=name, depth=depth, left=left)
            for depth, name in enumerate(frames[shared:], start=shared)
        ]
        old, new = merged[frames]
        for box in unfinished:
            box.old += old
            box.new += new
        left += _width((old, new), of, cost)
    yield from unfinished


def _closed(box: _Open, of: tuple[int, int], cost: float) -> Box:
    return Box(
        depth=box.depth,
        left=box.left,
        width=_width((box.old, box.new), of, cost),
        samples=box.new,
        change=share_change(box.name, old=(box.old, of[0]), new=(box.new, of[1]), cost=cost),
    )


def _width(samples: tuple[int, int], of: tuple[int, int], cost: float) -> float:
    shares = samples[0] / max(of[0], 1) + cost * samples[1] / max(of[1], 1)
    return shares / (1 + cost)


_TITLE_COLUMNS = 80  # so that the legend has its place beside it
_NAME_COLUMNS = 120
_WIDTH = 1200.0
_MARGIN = 10.0
_ROW = 17.0
_LINE = 18.0  # of the text above and below the boxes
_CONTROLS = 32.0
_CHARACTER = 6.7  # the width of one in an 11 px monospace font
_NARROWEST = 0.05  # px: what is narrower would be a smear that only makes the file larger


@dataclass(frozen=True, kw_only=True, slots=True)
class _Drawn:
    """A box in the picture's own units (px), with what is written on and about it."""

    tone: str
    x: float
    y: float
    width: float
    label: str
    name: str
    about: str


def flame_graph(profile: Profile, *, title: str) -> str:
    """The flame graph of one capture, or, when it is mostly idle, a picture that says so."""
    title = one_line(title, columns=_TITLE_COLUMNS)
    if profile.mostly_idle:
        return _render(title=title, notes=[_idle_words("This capture", profile)])
    (whole,) = restore_callers(profile)
    notes = [
        f"Width: share of {whole.busy_samples:,} busy samples; colours mean nothing.",
        f"Not drawn: {whole.idle_share:.1%} of {profile.samples:,} samples, which are idle.",
        *_restored_words(("the busy samples", profile, whole)),
    ]
    return _render(
        title=title,
        notes=notes,
        boxes=lay_out(whole, whole),
        tone=lambda box: name_tone(box.change.name),
        about=lambda box: f"{box.change.new:.2%} of busy cycles, {box.samples:,} samples",
    )


def flame_difference(
    old: Profile,
    new: Profile,
    *,
    title: str,
    old_label: str,
    new_label: str,
    cost: float | None = None,
) -> str:
    """How a new capture differs from an old one, as shares of their busy cycles.

    `cost` is what a packet costs in the new one as a factor of what it costs in the old one: both
    shares are then of the old one's cycles per packet. A picture that says so when one of them is
    mostly idle: its shares would mean nothing.
    """
    title = one_line(title, columns=_TITLE_COLUMNS)
    sides = ((one_line(old_label, columns=40), old), (one_line(new_label, columns=40), new))
    if old.mostly_idle or new.mostly_idle:
        idle = [_idle_words(label, side) for label, side in sides if side.mostly_idle]
        return _render(title=title, notes=idle)
    whole = restore_callers(old, new)
    (old_name, _), (new_name, _) = sides
    notes = [
        f"From {old_name} ({old.idle_share:.1%} idle) to {new_name} ({new.idle_share:.1%} idle).",
        *_scale_words(cost, old_name),
        *_restored_words(*((*side, after) for side, after in zip(sides, whole, strict=True))),
    ]

    whole_name = "busy cycles" if cost is None else f"{old_name}'s cycles per packet"

    def about(box: Box) -> str:
        change = box.change
        doubt = "" if change.sure else ", no more than chance explains"
        points = f"{100 * change.delta:+.2f}".replace("-", "\N{MINUS SIGN}")
        return (
            f"{points} points: {old_name} {change.old:.2%}, {new_name} {change.new:.2%} "
            f"of {whole_name}{doubt}"
        )

    return _render(
        title=title,
        notes=notes,
        boxes=lay_out(*whole, cost=1.0 if cost is None else cost),
        tone=lambda box: change_tone(box.change),
        about=about,
        swatches=legend(),
    )


def _scale_words(cost: float | None, old_name: str) -> list[str]:
    if cost is None:
        return [
            "Width: mean of both shares of the busy cycles.",
            "Colour: by what factor the share changed; grey when chance explains it.",
        ]
    times = f"a packet costs {cost:.3f} times what it cost with {old_name}"
    return [
        f"Width: mean of both costs per packet; {times}.",
        "Colour: by what factor the cost per packet changed; grey when chance explains it.",
    ]


def _idle_words(label: str, profile: Profile) -> str:
    share = f"{profile.idle_share:.1%} of {profile.samples:,} samples"
    return (
        f"{label} is mostly idle: {share}. From {MOSTLY_IDLE:.0%} on the idle loop is seen, "
        "not the traffic: nothing is drawn, capture again."
    )


def _restored_words(*captures: tuple[str, Profile, Profile]) -> list[str]:
    shares = []
    for label, before, after in captures:
        pairs = zip(before.stacks, after.stacks, strict=True)
        restored = sum(drawn.samples for one, drawn in pairs if one != drawn and not drawn.is_idle)
        shares.append((restored, f"{restored / max(after.busy_samples, 1):.1%} of {label}"))
    if not any(restored for restored, _ in shares):
        return []
    words = ", ".join(words for _, words in shares)
    return [
        f"Callers cut off at {CALLCHAIN_DEPTH} frames are filled in from whole stacks: in {words}."
    ]


def _render(
    *,
    title: str,
    notes: Sequence[str],
    boxes: Sequence[Box] = (),
    tone: Callable[[Box], str] = lambda _: "same",
    about: Callable[[Box], str] = lambda _: "",
    swatches: Sequence[tuple[str, str]] = (),
) -> str:
    """Everything above the boxes takes its own lines; the root stands at the bottom."""
    wide = [box for box in boxes if _pixels(box.width) >= _NARROWEST]
    rows = 1 + max((box.depth for box in wide), default=-1)
    top = _MARGIN + (len(notes) + 2) * _LINE + (_CONTROLS if wide else 0)
    bottom = top + rows * _ROW
    drawn = [
        _draw(box, y=bottom - (box.depth + 1) * _ROW, tone=tone(box), about=about(box))
        for box in wide
    ]
    return rendered(
        "flamegraph.svg",
        title=title,
        notes=notes,
        drawn=drawn,
        swatches=swatches,
        width=_WIDTH,
        height=bottom + (2 * _LINE if wide else 0),
        margin=_MARGIN,
        row=_ROW,
        line=_LINE,
        character=_CHARACTER,
        controls=top - _CONTROLS,
        bottom=bottom,
    )


def _draw(box: Box, *, y: float, tone: str, about: str) -> _Drawn:
    name = one_line(box.change.name, columns=_NAME_COLUMNS)
    width = _pixels(box.width)
    columns = int((width - 4) / _CHARACTER)
    return _Drawn(
        tone=tone,
        x=_MARGIN + _pixels(box.left),
        y=y,
        width=width,
        label=shorten(name, columns) if columns >= 3 else "",
        name=name,
        about=about,
    )


def _pixels(fraction: float) -> float:
    return fraction * (_WIDTH - 2 * _MARGIN)


_WARM_TONES = 5

# Factors by which a share changed, from which on a box has the next stronger tone. A factor rather
# than a difference: a caller of what changed has the same difference as that, but a smaller factor.
_TONES = (1.05, 1.25, 2.0)


def name_tone(name: str) -> str:
    """One of a few warm tones, always the same for a name; it means nothing."""
    return f"warm{crc32(name.encode('utf-8', 'replace')) % _WARM_TONES}"


def change_tone(change: ShareChange) -> str:
    """Blue for less, red for more, the stronger the larger; grey for what chance explains."""
    less, more = sorted((change.old, change.new))
    strength = sum(more >= factor * less for factor in _TONES)
    if not strength or not change.sure:
        return "same"
    return f"{'more' if change.delta > 0 else 'less'}{strength}"


def legend() -> tuple[tuple[str, str], ...]:
    """The tones from least to most, each with what it means: by what factor it begins."""
    tones = list(enumerate(_TONES, start=1))
    less = [(f"less{strength}", f"÷ {least:g}") for strength, least in tones]
    more = [(f"more{strength}", f"× {least:g}") for strength, least in tones]  # noqa: RUF001 - the sign
    return (*reversed(less), ("same", "same"), *more)
