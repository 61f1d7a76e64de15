"""Where the cycles went before and after a step, as a reader is told it; it samples nothing.

Every share is of the samples that are not idle. All text here has gone through `plain`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from buildbot_bench.core.profile import Cycles, Profile, ShareChange, compare_symbols, meetings
from buildbot_bench.core.report.plain import plain

_MOST_SYMBOLS = 10
_MOST_FILES = 5
_MOST_NAMES = 6
# What counts as moved when the commit is searched for names; chance alone moves less than this.
_LEAST_POINTS = 0.001
_NAME_COLUMNS = 48
_LABEL_COLUMNS = 24
_PATH_COLUMNS = 100
_LINK_COLUMNS = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """One capture as the farm has it; `link` is where its flame graph is seen."""

    label: str
    profile: Profile
    link: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Captures:
    """Both sides of a step, or in `missing` why there are none of them.

    `difference` is where their differential flame graph is seen; `diff` is the commit's, empty
    when it is not one commit.
    """

    counter: str = ""
    old: Capture | None = None
    new: Capture | None = None
    difference: str = ""
    diff: str = ""
    missing: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampled:
    """How much a capture is made of; `idle` is the idle fraction of its samples."""

    label: str
    samples: int
    idle: float
    link: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbol:
    """A function's own fraction of the busy cycles on both sides.

    `error` is the standard error of the difference that sampling alone makes; `sure` is that the
    difference is more than three of those.
    """

    name: str
    old: float
    new: float
    error: float
    sure: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A file of the commit: functions whose share changed and within which it changes a line.

    `named` are such functions that its changed lines but name.
    """

    path: str
    changed: tuple[str, ...]
    named: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """The section of a report. With `missing`, the reason why, there is nothing else.

    `places` is None when there is no single commit whose files could be looked at.
    """

    counter: str = ""
    old: Sampled | None = None
    new: Sampled | None = None
    symbols: tuple[Symbol, ...] = ()
    places: tuple[Place, ...] | None = None
    difference: str = ""
    missing: str = ""


def explain(known: Captures) -> Why:
    """What two captures say, those functions first whose share changed most."""
    if known.missing or known.old is None or known.new is None:
        return Why(missing=plain(known.missing or "there is no capture of both sides"))
    old, new = known.old, known.new
    own = compare_symbols(old.profile, new.profile)
    moved = _moved(own)
    moved += [
        name
        for name in _moved(compare_symbols(old.profile, new.profile, by=Cycles.INCLUSIVE))
        if name not in moved
    ]
    return Why(
        counter=plain(known.counter, columns=_NAME_COLUMNS),
        old=_sampled(old),
        new=_sampled(new),
        symbols=tuple(_symbol(change) for change in own[:_MOST_SYMBOLS] if change.delta),
        places=_places(known.diff, moved) if known.diff else None,
        difference=plain(known.difference, columns=_LINK_COLUMNS),
    )


def _moved(changes: Iterable[ShareChange]) -> list[str]:
    return [
        change.name
        for change in changes
        if change.beyond_chance and abs(change.delta) >= _LEAST_POINTS
    ]


def _places(diff: str, names: list[str]) -> tuple[Place, ...]:
    return tuple(
        Place(
            path=plain(meeting.path, columns=_PATH_COLUMNS),
            changed=_names(meeting.changed),
            named=_names(meeting.named),
        )
        for meeting in meetings(diff, names)[:_MOST_FILES]
    )


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plain(name, columns=_NAME_COLUMNS) for name in names[:_MOST_NAMES])


def _sampled(capture: Capture) -> Sampled:
    return Sampled(
        label=plain(capture.label, columns=_LABEL_COLUMNS),
        samples=capture.profile.samples,
        idle=capture.profile.idle_share,
        link=plain(capture.link, columns=_LINK_COLUMNS),
    )


def _symbol(change: ShareChange) -> Symbol:
    return Symbol(
        name=plain(change.name, columns=_NAME_COLUMNS),
        old=change.old,
        new=change.new,
        error=change.error,
        sure=change.beyond_chance,
    )
