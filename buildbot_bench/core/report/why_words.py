"""How functions, their shares and costs, and a commit's lines are put into words and figures."""

from __future__ import annotations

from buildbot_bench.core.report.meeting import Place
from buildbot_bench.core.report.words import count


def share(fraction: float) -> str:
    """A function's part of the cycles: `12.35%`."""
    return f"{100 * fraction:.2f}%"


def points(difference: float) -> str:
    """How far a share moved, in percentage points: `+3.21`."""
    return f"{100 * difference:+.2f}"


def instructions(figure: float) -> str:
    """How many instructions a packet takes: `148.00`."""
    return f"{figure:.2f}"


def more_instructions(difference: float) -> str:
    """By how many instructions per packet a figure changed: `+74.00`."""
    return f"{round(difference, 2) + 0.0:+.2f}"  # no -0.00


def met(place: Place) -> str:
    """How a file of the commit meets functions that changed, and how sure that is."""
    parts = []
    if place.changed:
        parts.append(f"changes {', '.join(place.changed)} (likely why)")
    if place.named:
        parts.append(f"names {', '.join(place.named)} (possibly why)")
    return "; ".join(parts)


def changed_lines(place: Place) -> str:
    """The lines that a commit changes in those functions, with their numbers: `+ 842  x = 1;`."""
    told, function = [], ""
    for line in place.lines:
        if line.function != function:
            function = line.function
            told.append(f"{function}:")
        sign, number = ("-", line.old) if line.new is None else ("+", line.new)
        told.append(f"{sign} {number:>5}  {line.text}")
    if place.unshown:
        told.append(f"and {count(place.unshown, 'more line')}")
    return "\n".join(told)
