"""A comparison in words: verdicts, the outcome in one line, the report as text and Markdown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import TextWrapper

from buildbot_bench.core.compare.model import ComparisonReport, SeriesReport, VariantChange, Verdict
from buildbot_bench.core.compare.suite import changed_rows, in_columns, rest, sentences
from buildbot_bench.core.compare.verdict import (
    Better,
    ComparedSides,
    NoDifference,
    Undecided,
    WithinLayoutLuck,
    Worse,
)
from buildbot_bench.core.contrast.needed import MOST, MoreOfEach
from buildbot_bench.core.figures import count, fine_percent, quantity, threshold
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import long_line

_COLUMNS = (
    *("testbed", "workload", "variant", "base", "new"),
    *("change", "interval", "p", "p (Holm)", "verdict"),
)
_LEAST_P = 0.0001
_FILL = TextWrapper(width=80, break_long_words=False, break_on_hyphens=False).fill


def text(report: ComparisonReport) -> str:
    """The answer of bench-compare: headline, table, and each series' blocks, or a suite's rest."""
    if report.left_out is not None:
        rows = in_columns(table(report))
        parts = ["\n".join(map(_FILL, sentences(report))), *([_aligned(rows)] if rows else [])]
        parts += ["\n".join(map(_FILL, rest(report)))]
        said = (report.detail, headline(report), *explanation(report))
        return "\n\n".join([*parts, "\n".join(map(_FILL, filter(None, said)))]) + "\n"
    parts = [headline(report), "\n".join([*_legend(report), *_method(report)])]
    if report.detail:
        parts.append(report.detail)
    all_series = measured(report)
    if all_series:
        parts.append(_aligned([_COLUMNS, *_rows(all_series)]))
    for series in all_series:
        heading = f"{series.workload} on {series.testbed}"
        images = image_lines(series, report)
        notes = [f"note: {note}" for note in series.notes]
        graphs = [f"{what}: {link}" for what, link in _flame_graphs(series)]
        blocks = "\n\n".join(series.ministat).splitlines()
        told = series.factors.sentences if series.factors else ()
        parts.append("\n".join([heading, *told, *blocks, *images, *notes, *graphs]))
    return "\n\n".join(parts) + "\n"


def markdown(report: ComparisonReport) -> str:
    """A comment to paste into a review: the outcome, the table, and each block in a fence."""
    suite = sentences(report, _code) if report.left_out is not None else [outcome(report)]
    lines = [*(f"**{line}**" for line in suite if line), "", headline(report), ""]
    if legend := _legend(report):
        lines += [*(f"* {line}" for line in legend), ""]
    lines += [*_method(report), ""]
    if report.detail:
        lines += [report.detail, ""]
    if rows := table(report, _code):
        rows = (rows[0], ("---",) * len(rows[0]), *rows[1:])
        cells = ([cell.replace("|", "\\|") for cell in row] for row in rows)
        lines += [f"| {' | '.join(row)} |" for row in cells]
    if report.left_out is not None:
        lines += [
            "",
            *(f"{' ' * 2 * line.startswith(' ')}* {line.strip()}" for line in rest(report, _code)),
        ]
    else:
        lines += _blocks(measured(report), report)
    if report.url:
        lines += ["", f"Measured by {report.farm}: {report.url}"]
    return "\n".join(lines) + "\n"


def table(
    report: ComparisonReport, named: Callable[[str], str] = str
) -> tuple[tuple[str, ...], ...]:
    """The one table: its headings, and a row for each new variant of each series.

    Of a suite: each value that changed, as `named` writes it; empty where nothing is to be shown.
    """
    if report.left_out is not None:
        return changed_rows(report, named)
    rows = tuple(_rows(measured(report)))
    return (_COLUMNS, *rows) if rows else ()


def explanation(report: ComparisonReport) -> tuple[str, ...]:
    """What each variant is, in what order they were measured, and what was corrected for."""
    return (*_legend(report), *_method(report))


def measured(report: ComparisonReport) -> list[SeriesReport]:
    """The series in which anything was measured; a detail says why the others have nothing."""
    return [series for series in report.series if not report.detail or series.is_measured]


def headline(report: ComparisonReport) -> str:
    """What was compared, how often, and what counts as a change."""
    boots = f"{count(report.iterations, report.item.iteration)} of each"
    if report.images > 1:
        boots += f"'s first image, at most {report.images} images of each"
    return (
        f"{report.title}: {boots}, "
        f"Student's t at {report.confidence:g} %, smallest relevant change "
        f"{threshold(report.min_effect)}"
    )


def subject(report: ComparisonReport) -> str:
    """The subject of a mail: `[bench] patch x simple_tx at r5: forwarding: 2 worse, 1 better`."""
    base = report.variants[0].variant.partition("+")[0]
    names = next((one.factors.factors for one in report.series if one.factors), ())
    what = f"{' x '.join(names)} at {base}" if names else report.title
    return f"[bench] {what}: {outcome(report) or 'nothing was measured'}"


def factor_lines(report: ComparisonReport) -> Iterator[str]:
    """What the factors do, with where where there are several series."""
    for series in report.series:
        where = f"{series.testbed}: " if len(report.series) > 1 else ""
        told = series.factors.sentences if series.factors else ()
        yield from (f"{where}{line}" for line in told)


def _legend(report: ComparisonReport) -> list[str]:
    return [
        f"{variant.label} is {variant.variant}"
        for variant in report.variants
        if variant.label != variant.variant
    ]


def _method(report: ComparisonReport) -> Iterator[str]:
    yield report.order
    yield report.drift
    yield from dict.fromkeys(one.factors.method for one in report.series if one.factors)
    if report.left_out is not None and report.tests:
        yield f"What is called better or worse is corrected for {count(report.tests, 'test')}."
    elif report.tests > 1:
        yield (
            "p is Student's. p (Holm) is that of the model of noise, which holds at every look, "
            f"corrected for {report.tests} tests."
        )


def _rows(all_series: Iterable[SeriesReport]) -> Iterator[tuple[str, ...]]:
    for series in all_series:
        for change in series.changes:
            yield series.testbed, series.workload, change.label, *_figures(change)


def _figures(change: VariantChange) -> tuple[str, ...]:
    said = change.beyond_luck.said
    comparison = change.comparison
    if comparison is None:
        return ("", "", "", "", "", "", said)
    return (
        quantity(comparison.reference.mean),
        quantity(comparison.other.mean),
        fine_percent(comparison.difference_percent / 100),
        f"+/- {comparison.error_percent:.2f} %",
        _p(change.p_value),
        _p(change.p_corrected),
        said,
    )


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"<{_LEAST_P}" if value < _LEAST_P else f"{value:.2g}"


def image_lines(series: SeriesReport, report: ComparisonReport) -> list[str]:
    """How many images and boots each variant has, and their levels; none where one each is all."""
    if all(len(images) <= 1 for images in series.images):
        return []
    noun = report.item.iteration
    lines = [f"Images, each linked in another order, with the means of their {noun}s:"]
    for variant, images in zip(report.variants, series.images, strict=True):
        boots = count(sum(image.boots for image in images), noun)
        levels = ", ".join(
            f"{image.image}: {quantity(image.level)} ({image.boots})" for image in images
        )
        lines.append(f"  {variant.label}: {count(len(images), 'image')}, {boots}: {levels}")
    return [*lines, f"Student's t and ministat pool the {noun}s of all images of a variant."]


def _blocks(all_series: Iterable[SeriesReport], report: ComparisonReport) -> list[str]:
    lines: list[str] = []
    for series in all_series:
        where = f"{series.workload} on {series.testbed}"
        if series.factors:
            lines += ["", f"{where}:", "", *(f"* {line}" for line in series.factors.sentences)]
        for number, block in enumerate(series.ministat, start=1):
            part = f", part {number} of {len(series.ministat)}" if len(series.ministat) > 1 else ""
            lines += ["", f"{where}{part}:", "", "```", *block.splitlines(), "```"]
        if images := image_lines(series, report):
            lines += ["", images[0], "", *(f"- {line.strip()}" for line in images[1:-1])]
            lines += ["", images[-1]]
        if series.notes:
            lines += ["", *(f"* {where}: {note}" for note in series.notes)]
        if graphs := _flame_graphs(series):
            lines += ["", *(f"- {where}, {what}: {link}" for what, link in graphs)]
    return lines


def _flame_graphs(series: SeriesReport) -> list[tuple[str, str]]:
    """What each picture of a series shows, and where it is; none where nothing was sampled."""
    found: dict[str, str] = {}
    for change in series.changes:
        if graphs := change.flame_graphs:
            found["flame graph of the base"] = graphs.base
            found[f"of {change.label}"] = graphs.new
            found[f"of the difference of {change.label} from the base"] = graphs.difference
    return list(found.items())


def _code(name: str) -> str:
    """A name that somebody else chose, as Markdown shows it and does nothing else with it."""
    return f"`{name.replace('`', chr(39))}`"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


NOT_SEPARATED = "not separated from layout"
ONE_IMAGE = "cannot be decided with one image of each"


def verdict_text(found: ComparedSides, item: ItemUnderTest = ItemUnderTest.KERNEL) -> str:
    """The verdict, what it is not, and what would tell more: `worse, not separated from layout`."""
    match found.verdict:
        case Worse() | Better():
            said = found.verdict.kind
            return said if found.separated else f"{said}, {NOT_SEPARATED}"
        case NoDifference(least=least):
            return f"no difference of {threshold(least)} or more"
        case Undecided(student="no sign"):
            return ONE_IMAGE
        case Undecided(student=("better" | "worse") as sign):
            return f"{ONE_IMAGE}, {sign} by Student's t"
        case WithinLayoutLuck(needs=needs) | Undecided(needs=needs):
            return found.verdict.kind + _needed(needs, item)


def _needed(needs: MoreOfEach | None, item: ItemUnderTest) -> str:
    if needs is None:
        return ""
    boots = f"{_number(needs.boots, f'more {item.iteration}')} of each"
    if not needs.images:
        return f": needs {boots}"
    return f": needs {boots}, on {_number(needs.images, 'more image')}"


def _number(number: int, noun: str) -> str:
    """`about 6 more boots`; where it is beyond what is said, `99 more boots or yet more`."""
    return (
        f"{count(number, noun)} or yet more" if number >= MOST else f"about {count(number, noun)}"
    )


_TOLD_FIRST = (
    *(Verdict.WORSE, Verdict.BETTER),
    *(Verdict.WITHIN_LUCK, Verdict.UNDECIDED, Verdict.NO_DIFFERENCE),
)


def outcome(report: ComparisonReport) -> str:
    """`forwarding +1.45 % better, pf-statefull -2.40 % worse`; empty when nothing was measured.

    Of several new variants `forwarding: 2 worse (most r311849 -25.60 %), 1 undecided`.
    """
    testbeds = {series.testbed for series in report.series}
    if report.left_out is not None:
        return long_line(" ".join(sentences(report)))
    several = len(report.variants[1:]) > 1
    said: list[str] = []
    for series in report.series:
        where = series.workload if len(testbeds) == 1 else f"{series.workload} on {series.testbed}"
        changes = _measured(series)
        if several and changes:
            said.append(f"{where}: {_counted(series, changes)}")
        elif changes:
            (change,) = changes
            said.append(f"{where}{_effect(change)} {change.verdict}")
    return long_line(("; " if several else ", ").join(said))


def _measured(series: SeriesReport) -> list[VariantChange]:
    """The changes of which both variant and base have values."""
    base, *others = series.samples
    sides = zip(series.changes, others, strict=True)
    return [change for change, sample in sides if base.values and sample.values]


def _counted(series: SeriesReport, changes: Sequence[VariantChange]) -> str:
    """How many variants have each verdict, and which is the most of those that changed."""
    said: list[str] = []
    for verdict in _TOLD_FIRST:
        of_it = [change for change in changes if change.verdict == verdict]
        if of_it and verdict in {Verdict.WORSE, Verdict.BETTER}:
            most = max(of_it, key=lambda change: abs(change.effect or 0.0))
            which = "most " if len(of_it) > 1 else ""
            said.append(f"{len(of_it)} {verdict} ({which}{most.label}{_effect(most)})")
        elif of_it:
            said.append(f"{len(of_it)} {verdict}")
    if missing := len(series.changes) - len(changes):
        said.append(f"{missing} not measured")
    return ", ".join(said)


def _effect(change: VariantChange) -> str:
    return "" if change.effect is None else f" {fine_percent(change.effect)}"
