"""A report as plain text of 80 columns, for a mail's first part and for a terminal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from buildbot_bench import extensions
from buildbot_bench.core.legible import long_line, one_line, shorten
from buildbot_bench.core.report.cost_table import PerPacket
from buildbot_bench.core.report.evidence_model import Fact, ScopeRow
from buildbot_bench.core.report.model import AddedSection, ProbeRecord, Report
from buildbot_bench.core.report.why import Sampled, Why
from buildbot_bench.core.report.why_words import (
    cost_change,
    cost_figure,
    function_place,
    points,
    share,
)
from buildbot_bench.core.report.words import count, duration, extent, quantity, reach, where
from buildbot_bench.render.environment import environment
from buildbot_bench.render.layout import WIDTH, aligned, column_widths, moment, padded, wrap

_LABEL_COLUMNS = 16
_WORKLOAD_COLUMNS = 44  # with the name of a value of its runs


def report_text(report: Report, *, whole: bool = True) -> str:
    """The whole report, or what a mail says of it, as text that ends in a newline.

    No line is wider than 78 columns, commands and addresses excepted: those must be copied whole.
    """
    template = environment().get_template("report.txt")
    return template.render(
        report=report,
        whole=whole,
        setting=report.setting,
        probe_table=probe_table,
        scope_table=scope_table,
        setup_table=setup_table,
        symbol_table=symbol_table,
        cost_table=cost_table,
    )


def probe_table(probes: Sequence[ProbeRecord], unit: str, image: str = "image") -> str:
    """The log of probes as aligned columns; a failure or a note stands on lines of its own.

    `image` is what one of several builds of a revision is called.

    The last column, how many suspects were left, is there when that is known of any probe.
    """
    head: tuple[str, ...] = ("probe", "revision", image, unit, "ended (UTC)", "took", "left")
    rows = [head, *(_cells(probe) for probe in probes)]
    if all(probe.left is None for probe in probes):
        rows = [row[:-1] for row in rows]
    widths = column_widths(rows)
    lines = [_line(rows[0], widths)]
    for probe, cells in zip(probes, rows[1:], strict=True):
        lines.append(_line(cells, widths))
        lines.extend(_remarks(probe, indent=widths[0] + 4))
    return "\n".join(lines)


def scope_table(rows: Sequence[ScopeRow]) -> str:
    """Every testbed and workload with its change, as aligned columns."""
    cells = [
        (
            shorten(row.testbed, _LABEL_COLUMNS),
            shorten(row.workload, _WORKLOAD_COLUMNS),
            extent(row),
            f"{reach(row)}{', ' if row.old else ''}{where(row)}",
        )
        for row in rows
    ]
    widths = column_widths(cells)
    lines = []
    for testbed, workload, change, summary in cells:
        row = [padded(testbed, widths[0]), padded(workload, widths[1])]
        row.append(aligned([change], widths[2:3]))
        lines.append(wrap(summary, first="  " + "  ".join(row) + "  "))
    return "\n".join(lines)


def setup_table(facts: Sequence[Fact]) -> str:
    """The facts as two columns; one that differs has a mark and a line for each side."""
    (width,) = column_widths([(fact.name,) for fact in facts])
    lines = []
    for fact in facts:
        name = padded(fact.name, width)
        if fact.differs:
            lines.append(wrap(fact.old, first=f"! {name}  before: "))
            lines.append(wrap(fact.new, first=f"  {' ' * width}  after:  "))
        else:
            lines.append(wrap(fact.new, first=f"  {name}  "))
    return "\n".join(lines)


def _cells(probe: ProbeRecord) -> tuple[str, ...]:
    return (
        str(probe.serial),
        shorten(probe.label, _LABEL_COLUMNS),
        str(probe.image),
        "-" if probe.value is None else quantity(probe.value),
        moment(probe.at_s),
        duration(probe.duration_s),
        "" if probe.left is None else f"{probe.left:,}",
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Figures stand to the right, the name of the revision to the left."""
    serial, name, *figures = cells
    shown = (aligned([serial], widths[:1]), padded(name, widths[1]), aligned(figures, widths[2:]))
    return ("  " + "  ".join(shown)).rstrip()


def _remarks(probe: ProbeRecord, *, indent: int) -> Iterator[str]:
    for remark in (probe.failure, probe.note):
        if remark:
            yield wrap(remark, first=" " * indent)


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


# A section is for a reader of a mail; what is longer belongs on a page of its own.
MOST_ADDED_LINES = 100


def with_sections(report: Report, failed: Callable[[str, Exception], None]) -> Report:
    """The report with the sections of `buildbot_bench.report_sections` behind those that it has.

    Of one that fails `failed` is called, while the exception is handled, with its name; the report
    goes without.
    """
    return replace(report, added=(*report.added, *_sections(report, failed)))


def _sections(report: Report, failed: Callable[[str, Exception], None]) -> Iterator[AddedSection]:
    for name, point in extensions.added(extensions.SECTIONS).items():
        try:
            section: AddedSection | None = extensions.load(point)(report)
            if section is not None:
                lines = tuple(long_line(line) for line in section.lines[:MOST_ADDED_LINES])
                yield AddedSection(title=one_line(section.title), lines=lines)
        except Exception as error:  # noqa: BLE001 - what strangers wrote must not keep a report back
            failed(name, error)
