"""The text that ministat(1) prints, byte for byte."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.ministat import Comparison, Summary, compare_summaries, summarize

SYMBOLS = "x+*%#@O"
MAX_DATASETS = len(SYMBOLS)
DEFAULT_WIDTH = 74
MAX_PLOT_CHARACTERS = 20_000_000  # two million points in 74 columns need a quarter of it

_HEADING = "    N           Min           Max        Median           Avg        Stddev\n"
_NO_PLOT = "[no plot, span is zero width]\n"
_INK = bytes.maketrans(bytes(range(8)), f" {SYMBOLS}".encode("ascii"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What to print; `width` is the plot's, in characters between the two frame lines.

    `separate`: a bar line for each data set instead of a shared one. `header`: the lines with the
    symbols and the table's heading. `population`: the values are whole populations; their
    deviation divides by n and nothing is compared.
    """

    width: int = DEFAULT_WIDTH
    separate: bool = True
    confidence: float = 95.0
    plot: bool = True
    header: bool = True
    compare: bool = True
    population: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Dataset:
    """One data set, ready to be drawn; `stddev` is the one that is shown."""

    symbol: str
    label: str
    values: Sequence[float]
    summary: Summary
    stddev: float

    @property
    def low(self) -> float:
        """The left end of its bar."""
        return self.summary.mean - self.stddev

    @property
    def high(self) -> float:
        """The right end of its bar."""
        return self.summary.mean + self.stddev


@dataclass(frozen=True, kw_only=True, slots=True)
class _Axis:
    """Maps values to the plot's columns; the lowest value stands in the middle of column 0."""

    origin: float
    cell: float
    width: int

    def column(self, value: float) -> int:
        """The column of a value, in 0..width-1, however it is rounded."""
        return max(0, min(int((value - self.origin) / self.cell), self.width - 1))


def render(
    datasets: Sequence[tuple[str, Sequence[float]]],
    *,
    width: int = DEFAULT_WIDTH,
    separate: bool = True,
    confidence: float = 95.0,
    plot: bool = True,
    header: bool = True,
    compare: bool = True,
) -> str:
    """Render labelled data sets, the reference first, as ministat prints them.

    The keywords are those of `Options`; `separate` is ministat's -s, `plot=False` its -A,
    `header=False` its -q, and its -n is neither plot nor comparison.
    """
    options = Options(
        width=width,
        separate=separate,
        confidence=confidence,
        plot=plot,
        header=header,
        compare=compare,
    )
    return render_options(datasets, options)


def render_options(datasets: Sequence[tuple[str, Sequence[float]]], options: Options) -> str:
    """Render labelled data sets, the reference first.

    Raises:
        UsageError: When there are none or more than 7, when one has fewer than 3 values or one that
            is infinite or beyond 1e100, for a confidence that ministat has not, for a width below 0
            or of 1 (ministat crashes), and for a plot above `MAX_PLOT_CHARACTERS`.
    """
    if not 1 <= len(datasets) <= MAX_DATASETS:
        raise UsageError(
            f"{len(datasets)} data sets cannot be shown", hint=f"give 1 to {MAX_DATASETS} of them"
        )
    if options.plot and (options.width < 0 or options.width == 1):
        raise UsageError(f"width {options.width} is too narrow for a plot", hint="use 74")
    prepared = [
        _prepare(symbol, label, values, options)
        for symbol, (label, values) in zip(SYMBOLS, datasets, strict=False)
    ]
    parts: list[str] = []
    if options.header:
        parts += [f"{dataset.symbol} {dataset.label}\n" for dataset in prepared]
    if options.plot:
        parts += _plot(prepared, options)
    if options.header:
        parts.append(_HEADING)
    parts += _table(prepared, options)
    return "".join(parts)


def verdict_text(comparison: Comparison) -> str:
    """The lines "Difference at…" or "No difference proven at…", each with its newline."""
    if not comparison.significant:
        return f"No difference proven at {comparison.confidence:.1f}% confidence\n"
    return (
        f"Difference at {comparison.confidence:.1f}% confidence\n"
        f"\t{comparison.difference:g} +/- {comparison.error:g}\n"
        f"\t{comparison.difference_percent:g}% +/- {comparison.error_percent:g}%\n"
        f"\t(Student's t, pooled s = {comparison.pooled_stddev:g})\n"
    )


def _prepare(symbol: str, label: str, values: Sequence[float], options: Options) -> _Dataset:
    try:
        summary = summarize(values)
    except UsageError as error:
        raise UsageError(f"{label}: {error.message}", hint=error.hint) from error
    stddev = summary.population_stddev if options.population else summary.stddev
    return _Dataset(symbol=symbol, label=label, values=values, summary=summary, stddev=stddev)


def _table(datasets: Sequence[_Dataset], options: Options) -> Iterator[str]:
    """The rows of figures, each after the first with its verdict."""
    reference = datasets[0].summary
    for index, dataset in enumerate(datasets):
        one = dataset.summary
        figures = (one.minimum, one.maximum, one.median, one.mean, dataset.stddev)
        cells = " ".join(f"{figure:13.8g}" for figure in figures)
        yield f"{dataset.symbol} {one.n:3d} {cells}\n"
        if index and options.compare and not options.population:
            yield verdict_text(compare_summaries(reference, one, confidence=options.confidence))


def _plot(datasets: Sequence[_Dataset], options: Options) -> Iterator[str]:
    """The frame, with the dots above and the bars below."""
    axis = _axis(datasets, options.width)
    if axis is None:
        yield _NO_PLOT
        return
    stacks = [Counter(map(axis.column, dataset.values)) for dataset in datasets]
    dots = [row.translate(_INK) for row in reversed(_dots(stacks, options.width))]
    bars = _bars(datasets, axis, separate=options.separate)
    frame = f"+{'-' * options.width}+\n"
    yield frame
    for line in (*dots, *bars):
        yield f"|{line[: options.width].decode('ascii')}|\n"
    yield frame


def _axis(datasets: Sequence[_Dataset], width: int) -> _Axis | None:
    """The axis that holds all values and bars; None when they span nothing, or a NaN."""
    if any(math.isnan(dataset.summary.mean) for dataset in datasets):
        return None
    low = min(min(dataset.summary.minimum, dataset.low) for dataset in datasets)
    high = max(max(dataset.summary.maximum, dataset.high) for dataset in datasets)
    cell = (high - low) / (width - 1.0)
    if cell == 0:
        return None
    return _Axis(origin=low - 0.5 * cell, cell=cell, width=width)


def _dots(stacks: Sequence[Mapping[int, int]], width: int) -> list[bytearray]:
    """Stack each data set's points upward from the floor; rows of symbol numbers, lowest first.

    Where data sets meet, their numbers are OR-ed: x with + gives *. ministat's quirk: the height
    is that of the *last* data set, so that the higher dots of earlier ones are cut off, and a row
    gained again after such a cut is blank.
    """
    rows: list[bytearray] = []
    height = 0
    for number, stack in enumerate(stacks, start=1):
        tallest = max(stack.values())
        if tallest * width > MAX_PLOT_CHARACTERS:
            raise UsageError(
                f"the plot would have {tallest} rows of {width} characters",
                hint="leave it out (-A), or make it narrower",
            )
        # A width of 0 has its points in a column 0 that is not shown.
        rows[height:tallest] = [bytearray(max(width, 1)) for _ in range(height, tallest)]
        height = tallest
        for column, count in stack.items():
            for row in rows[:count]:
                row[column] |= number
    return rows[:height]


def _bars(datasets: Iterable[_Dataset], axis: _Axis, *, separate: bool) -> list[bytearray]:
    """Mean (A) and median (M) on a bar of one standard deviation to either side.

    On a shared line a later data set overwrites an earlier one, but its `_` only fills blanks.
    """
    bar, rule, space, median, mean = b"|_ MA"
    lines: list[bytearray] = []
    for dataset in datasets:
        if separate or not lines:
            lines.append(bytearray(b" " * max(axis.width, 1)))
        line = lines[-1]
        left, right = axis.column(dataset.low), axis.column(dataset.high)
        line[left] = line[right] = bar
        for column in range(left + 1, right):
            if line[column] == space:
                line[column] = rule
        line[axis.column(dataset.summary.median)] = median
        line[axis.column(dataset.summary.mean)] = mean
    return lines
