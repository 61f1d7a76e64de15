"""The plot of how a search narrowed down: the suspects after each measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from buildbot_bench.core.report import SearchStage
from buildbot_bench.render.plots.canvas import BAND, INK, NEW, OLD, Format, draw, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_WIDTH = 0.006  # of the range, so that a single commit of thousands is seen
_NAME_WIDTH = 0.12  # of the range
_ROW_IN = 0.13
_LEAST_HEIGHT_IN, _MOST_HEIGHT_IN = 2.4, 7.0


def posterior(
    stages: Sequence[SearchStage],
    commits: int,
    *,
    title: str,
    ends: tuple[str, str],
    culprits: Mapping[int, str] = MappingProxyType({}),
    form: Format = Format.PNG,
) -> bytes:
    """The picture of the stages, the first on top; at least one.

    `commits` is how many lie in the range, `ends` are its two names, `culprits` maps the position
    of each culprit to its name, the one that matters most first. A bar is a place where a step may
    lie, the darker the likelier; a dot is what was measured.
    """

    def paint(axes: Axes) -> None:
        axes.grid(visible=False)
        for culprit in culprits:
            axes.axvline(culprit, color=NEW, lw=1.0, zorder=1)
        for row, stage in enumerate(stages):
            _bars(axes, row, stage, commits)
        axes.scatter(
            [stage.position for stage in stages],
            range(len(stages)),
            s=13,
            color=INK,
            zorder=3,
            clip_on=False,
        )
        axes.set_ylim(len(stages) - 0.4, -0.6)
        axes.set_xlim(-0.01 * commits, 1.01 * commits)
        axes.set_ylabel("measurement")
        axes.set_xlabel("a dot was measured; the darker, the likelier a step lies there")
        axes.yaxis.set_major_formatter(lambda row, _: f"{row + 1:.0f}")
        axes.set_yticks(range(0, len(stages), 1 + len(stages) // 12))
        _name_places(axes, {0: ends[0], commits: ends[1]}, culprits)

    height_in = min(max(_LEAST_HEIGHT_IN, 1.2 + _ROW_IN * len(stages)), _MOST_HEIGHT_IN)
    return draw(paint, form=form, title=title, height_in=height_in)


def _bars(axes: Axes, row: int, stage: SearchStage, commits: int) -> None:
    """All is suspected, faintly, as long as the ends are not measured."""
    if not stage.suspects:
        axes.barh(row, commits if stage.left else 0, 0.8, color=BAND, alpha=0.15, lw=0)
        return
    for place in stage.suspects:
        width = max(place.new - place.old, _LEAST_WIDTH * commits)
        middle = (place.old + place.new) / 2
        axes.barh(
            row,
            width,
            0.8,
            left=middle - width / 2,
            color=OLD,
            alpha=0.2 + 0.7 * min(place.probability, 1.0),
            lw=0,
            zorder=2,
        )


def _name_places(axes: Axes, ends: Mapping[int, str], culprits: Mapping[int, str]) -> None:
    """The culprits and the ends by name, unless a name would cover one that matters more."""
    room = _NAME_WIDTH * max(ends)
    places: dict[int, str] = {}
    for place, label in [*culprits.items(), *ends.items()]:
        if all(abs(place - other) > room for other in places):
            places[place] = label
    axes.set_xticks(list(places), [named(label) for label in places.values()])
    for tick, place in zip(axes.get_xticklabels(), places, strict=True):
        tick.set_color(NEW if place in culprits else INK)
