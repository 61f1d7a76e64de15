"""Words and figures of the section on where CPU cycles went."""

from buildbot_bench.core.patch import ChangedFile
from buildbot_bench.core.report.why import FunctionCost, PerPacket, Why
from buildbot_bench.core.report.words import count, sureness

_WHOLE_FROM = 10_000  # per packet: from here hundredths say nothing
_MOST_IN_BRIEF = 4


def share(fraction: float) -> str:
    """A function's part of the cycles: `12.35 %`."""
    return f"{100 * fraction:.2f} %"


def points(difference: float) -> str:
    """How far a share moved, in percentage points: `+3.21`."""
    return f"{100 * difference:+.2f}"


def cost_figure(figure: float) -> str:
    """What a function costs a packet: `148.00`, `105,610`."""
    return f"{figure:,.{_decimals(figure)}f}"


def cost_change(difference: float) -> str:
    """By how much a cost per packet changed: `+74.00`, `-36,980`."""
    decimals = _decimals(difference)
    return f"{round(difference, decimals) + 0.0:+,.{decimals}f}"  # no -0.00


def _decimals(figure: float) -> int:
    return 2 if abs(figure) < _WHOLE_FROM else 0


def cost_title(why: Why, table: PerPacket) -> str:
    """What the table of costs is of, and where it comes from."""
    if table.unit == "ns":
        return (
            f"nanoseconds of processor time per packet, by function. Source: its share of the "
            f"samples ({why.counter}) and the levels above"
        )
    return f"{table.unit} per packet by function, counted"


def in_brief(why: Why) -> str:
    """The functions that moved most, in one sentence."""
    table = why.per_packet
    if why.missing:
        return f"Why: the cause is not known: {why.missing}"
    if table and not table.explains:
        return f"Why: {unexplained(table)}"
    if table:
        most = [f"{one.name} {cost_change(one.new - one.old)}" for one in table.functions]
        return f"Why: {', '.join(most[:_MOST_IN_BRIEF])} {table.unit} per packet."
    most = [f"{one.name} {points(one.new - one.old)}" for one in why.symbols]
    return f"Why: {', '.join(most[:_MOST_IN_BRIEF])} points of the busy cycles."


def unexplained(table: PerPacket) -> str:
    """The sentence instead of a table that explains too little."""
    whole = table.total.new - table.total.old
    return (
        f"Sampling explains {sureness(table.explained)} of the change of {cost_change(whole)} "
        f"{table.unit} per packet. The functions that caused it are not known."
    )


def function_place(function: FunctionCost) -> str:
    """Where a function stands, and through which calls its cost changed."""
    through = f"called by {', by '.join(function.callers)}" if function.callers else ""
    return ", ".join(part for part in (function.place, through) if part)


def overlap(place: ChangedFile) -> str:
    """How a file of the commit overlaps functions that changed, and how sure that is."""
    parts = []
    if place.changed:
        parts.append(f"changes {', '.join(place.changed)} (likely why)")
    if place.named:
        parts.append(f"names {', '.join(place.named)} (possibly why)")
    return "; ".join(parts)


def changed_lines(place: ChangedFile) -> str:
    """The lines that a commit changes in those functions, with their numbers: `+ 842  x = 1;`."""
    written, function = [], ""
    for line in place.lines:
        if line.function != function:
            function = line.function
            written.append(f"{function}:")
        sign, number = ("-", line.old) if line.new is None else ("+", line.new)
        written.append(f"{sign} {number:>5}  {line.text}")
    if place.unshown:
        written.append(f"and {count(place.unshown, 'more line')}")
    return "\n".join(written)
