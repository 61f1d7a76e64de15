"""The cost or share of each function before and after a step, as aligned text."""

from __future__ import annotations

from collections.abc import Iterator

from buildbot_bench.core.legible import shorten
from buildbot_bench.core.report import PerPacket, Sampled, Why
from buildbot_bench.core.report.why_words import (
    cost_change,
    cost_figure,
    function_place,
    points,
    share,
)
from buildbot_bench.core.report.words import count
from buildbot_bench.render.layout import WIDTH, aligned, column_widths, padded

_SYMBOL_COLUMNS = 34
_SIDE_COLUMNS = 10


def symbol_table(why: Why) -> str:
    """Functions with their share on both sides and how far it moved."""
    rows = [("", "", *_sides(why), "points")]
    rows += [
        (
            "!" if symbol.sure else "",
            shorten(symbol.name, _SYMBOL_COLUMNS),
            share(symbol.old),
            share(symbol.new),
            points(symbol.new - symbol.old),
        )
        for symbol in why.symbols
    ]
    widths = column_widths(rows)
    return "\n".join(
        f"  {mark:1}  {padded(name, widths[1])}  {aligned(figures, widths[2:])}"
        for mark, name, *figures in rows
    )


def cost_table(why: Why, table: PerPacket) -> str:
    """Functions with their cost per packet on both sides, and what these sum to.

    A function's place and its callers, where they are known, stand on a line of their own beneath.
    """
    head = ("", *_sides(why), "change")
    rows = [head, *_cost_rows(table)]
    places = ["", *map(function_place, table.functions), "", ""]
    widths = column_widths(rows)
    lines = []
    for (name, *figures), place in zip(rows, places, strict=True):
        lines.append(f"  {padded(name, widths[0])}  {aligned(figures, widths[1:])}")
        if place:
            lines.append(f"    {shorten(place, WIDTH - 4)}")
    return "\n".join(lines)


def _cost_rows(table: PerPacket) -> Iterator[tuple[str, ...]]:
    for one in table.functions:
        yield (shorten(one.name, _SYMBOL_COLUMNS), *_figures(one.old, one.new))
    for name, sums in (
        (count(table.others.functions, "other"), table.others),
        ("total", table.total),
    ):
        yield (name, *_figures(sums.old, sums.new))


def _figures(old: float, new: float) -> tuple[str, str, str]:
    return cost_figure(old), cost_figure(new), cost_change(new - old)


def _sides(why: Why) -> tuple[str, str]:
    return _label(why.old), _label(why.new)


def _label(side: Sampled | None) -> str:
    return shorten(side.label, _SIDE_COLUMNS) if side else ""
