"""The files of a result directory in the format of the netbenches archive.

README.md              what was compared on what, graph, table, ministat blocks
gnuplot.data           index, median, minimum and maximum of each image and workload
IMAGE.data             the rows of one image, which gnuplot.plt draws as graph.png and graph.svg
IMAGE.CFG.pps          one value per boot
RAW/                   bench.IMAGE.CFG.info: the set-up; bench.IMAGE.CFG.N.receiver and .sender:
                       whole logs; one that is not whole ends in .cut
PMC/                   bench.IMAGE.CFG.pmc.graph, .folded and .gprof of a capture

A capture is a boot of its own: `.N.pmc.graph` in RAW/ would say that boot N was sampled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from buildbot_bench.core.profile.formats import format_folded, format_gprof, format_pmc_graph
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import RunLogs

# Of Ethernet, in bits a packet: (7 x (40 + 14) + 4 x (576 + 14) + (1500 + 14)) / 12 x 8.
_IMIX_BITS = 2834.666667
_WIDTH = 0.8  # of all boxes of a workload together, of the distance between workloads
_COLOURS = ("#A00000", "#00A000", "#5060D0", "#F25900", "#7A3E9D", "#808000", "#008080", "#404040")
_FILLS = ("", " fs pattern 5", " fs pattern 1", " fs pattern 2")


def gnuplot_script(title: str, unit: str, images: Mapping[str, str]) -> str:
    """Draws IMAGE.data of all `images`, by label, as graph.png, or graph.svg with `-e svg=1`."""
    width = _WIDTH / max(1, len(images))
    lines = [
        "# gnuplot gnuplot.plt draws graph.png; gnuplot -e svg=1 gnuplot.plt draws graph.svg",
        "if (exists('svg')) {",
        "    set terminal svg size 1024,768 rounded",
        "    set output 'graph.svg'",
        "} else {",
        "    set terminal png truecolor size 1920,1080 font ',22'",
        "    set output 'graph.png'",
        "}",
        f"set title {_in_gnuplot(title)} noenhanced",
        f"set ylabel {_in_gnuplot(f'{unit}: median, minimum and maximum of the boots')} noenhanced",
        "set yrange [0:*]",
        "set xrange [-0.6:*]",
        "set autoscale xfixmax",  # and as much air on the right as on the left
        "set offsets 0, 0.2, 0, 0",
        "set grid ytics back",
        "set border 3",
        "set tics nomirror",
        "set ytics format '%.0s%c'",
        "set xtics noenhanced",
        "set key below center noenhanced",  # inside it would lie on the boxes of many workloads
        "set style fill transparent solid 0.5",
        f"set boxwidth {width:.4f}",
    ]
    if unit == "pps":
        lines += [
            f"set link y2 via y * {_IMIX_BITS} inverse y / {_IMIX_BITS}",
            "set y2tics format '%.1s%cb/s'",
            "set y2label 'the same packet rate with a simple IMIX (Ethernet)'",
        ]
    return "\n".join([*lines, _plot(images, width), ""])


def _plot(images: Mapping[str, str], width: float) -> str:
    drawn: list[str] = []
    for place, (image, label) in enumerate(images.items()):
        shift = (place - (len(images) - 1) / 2) * width
        x, file = f"($0{shift:+.4f})", _in_gnuplot(f"{image}.data")
        colour = _COLOURS[place % len(_COLOURS)]
        if place == 0:  # the names of the workloads, in the middle of their boxes
            drawn.append(f"{file} using 0:(0):xtic(1) with dots notitle")
        # What has a colour again is hatched.
        fill = _FILLS[place // len(_COLOURS)]
        boxes = f"with boxes{fill} lc rgb '{colour}' title {_in_gnuplot(label)}"
        drawn.append(f"{file} using {x}:2 {boxes}")
        drawn.append(f"{file} using {x}:2:3:4 with yerrorbars lc rgb '{colour}' pt 1 notitle")
    return "plot " + ", \\\n     ".join(drawn)


def _in_gnuplot(text: str) -> str:
    """Between single quotes nothing means anything to gnuplot but the quote, which is doubled."""
    return "'" + text.replace("'", "''").replace("\n", " ") + "'"


_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_SPECIAL = re.compile(r'(["\\$`])')
_MEANS_SOMETHING = re.compile(r"[<>\[\]*|`&]|\b_|_\b")  # to Markdown or HTML
_LONGEST_NAME = 100  # characters
# What the archive calls a fact of ours; a second sender's command is PKTGEN 2.
_NAMES = {"uname": "UNAME"}
_COMMAND = re.compile(r"sender (\d{1,2}) command", re.ASCII)


def published_files(
    title: str,
    body: str,
    all_series: Sequence[PublishedSeries],
    *,
    graph: str = "",
    flame_graphs: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The texts of one testbed's directory by their paths.

    `body` is Markdown, `graph` a picture's name; `flame_graphs` say what each file of them shows.
    """
    files = {
        "README.md": _readme(title, body, all_series, graph, flame_graphs or {}),
        "gnuplot.data": _rows(
            (f"{variant.image}.{safe(series.workload)}", variant.values)
            for series in all_series
            for variant in series.variants
        ),
    }
    for image in images_of(all_series):
        files[f"{image}.data"] = _rows(
            (
                (safe(series.workload), variant.values)
                for series in all_series
                for variant in series.variants
                if variant.image == image
            ),
            missing=" NaN NaN NaN",  # so that the rows of all images are the same workloads
        )
    files["gnuplot.plt"] = gnuplot_script(title, all_series[0].unit, images_of(all_series))
    for series in all_series:
        for variant in series.variants:
            files.update(_of_variant(safe(series.workload), variant))
    return files


def images_of(all_series: Sequence[PublishedSeries]) -> dict[str, str]:
    """The label of each variant by the name of its image, the base's first."""
    return {v.image: v.label for series in all_series for v in series.variants}


def capture_name(image: str, workload: str) -> str:
    """What the files of a capture are called, without what tells them apart."""
    return f"bench.{image}.{safe(workload)}"


def _of_variant(workload: str, variant: PublishedVariant) -> Iterator[tuple[str, str]]:
    name = f"{variant.image}.{workload}"
    yield f"{name}.pps", "".join(f"{number(value)}\n" for value in variant.values)
    yield f"RAW/bench.{name}.info", _info(variant.image, workload, variant.facts)
    for boot in variant.boots:
        beginning = f"RAW/bench.{name}.{boot.ordinal}"
        cut = "" if boot.whole else ".cut"
        yield f"{beginning}.receiver{cut}", boot.logs.receiver
        for sender, log in enumerate(boot.logs.senders, start=1):
            yield f"{beginning}.sender{f'_{sender}' if sender > 1 else ''}{cut}", log
        if boot.logs.remark:
            yield f"{beginning}.remark", f"{boot.logs.remark}\n"
    if variant.profile is not None:
        capture = f"PMC/bench.{name}"
        yield f"{capture}.pmc.graph", format_pmc_graph(variant.profile)
        yield f"{capture}.folded", format_folded(variant.profile)
        yield f"{capture}.gprof", format_gprof(variant.profile)


def _readme(
    title: str,
    body: str,
    all_series: Sequence[PublishedSeries],
    graph: str,
    flame_graphs: Mapping[str, str],
) -> str:
    lines = [title]
    labels = [variant.label for variant in all_series[0].variants]
    for row in set_ups(all_series):
        for of, value in told(row, labels):
            where = f" of {of}" if of else ""
            lines.append(f"  - {_named(row.name)}{where}: {_quoted(value)}")
    if graph:
        lines += ["", f"![{title}]({graph})"]
    lines += ["", body.rstrip("\n")]
    if flame_graphs:
        lines += ["", "flame graph:"]
        lines += [f"  - [{about}]({path})" for path, about in flame_graphs.items()]
    variants = [variant for series in all_series for variant in series.variants]
    if cut := sum(not boot.whole for variant in variants for boot in variant.boots):
        lines += ["", f"The logs of {cut} boots are not whole: in RAW/ their names end in .cut."]
    return "\n".join(lines) + "\n"


def _named(fact: str) -> str:
    if command := _COMMAND.fullmatch(fact):
        return "PKTGEN" if command[1] == "0" else f"PKTGEN {int(command[1]) + 1}"
    return _NAMES.get(fact, fact)


def _quoted(value: str) -> str:
    """A text that strangers wrote, as code where it would mean something else."""
    return f"`{value.replace('`', chr(39))}`" if _MEANS_SOMETHING.search(value) else value


def _rows(named: Iterator[tuple[str, tuple[float, ...]]], *, missing: str = "") -> str:
    lines = ["#index median minimum maximum"]
    for name, values in named:
        if values:
            figures = (median(values), min(values), max(values))
            lines.append(f"{name} {' '.join(map(number, figures))}")
        elif missing:
            lines.append(f"{name}{missing}")
    return "\n".join(lines) + "\n"


def _info(image: str, workload: str, facts: Mapping[str, str]) -> str:
    """The set-up as a file that sh(1) can read; its values are quoted, no matter what they hold."""
    settings = {"IMAGE": image, "CFG": workload, "PKTGEN": "", "UNAME": facts.get("uname", "")}
    for name, value in facts.items():
        settings[f"FACT_{re.sub('[^A-Za-z0-9]+', '_', name).upper()}"] = value
    quoted = ((name, _SPECIAL.sub(r"\\\1", value)) for name, value in settings.items())
    return "".join(f'{name}="{value}"\n' for name, value in quoted)


def safe(name: str) -> str:
    """A name that is one path component and no other: no slash, and never a dot alone."""
    return _STRANGE.sub("-", name)[:_LONGEST_NAME].strip("-.") or "unnamed"


def number(value: float) -> str:
    """A value so that the same is read again: as short as the archive's, or with all its digits."""
    short = f"{value:.15g}"
    return short if float(short) == value else repr(value)


NOT_TOLD = "(not told)"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedBoot:
    """The logs of one boot that gave a value; `whole` when nothing of them is missing."""

    ordinal: int
    logs: RunLogs
    whole: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedVariant:
    """What is published of one variant on one testbed and workload.

    `image` is what it is called in file names, `values` are in the order measured, `facts` those
    that the lab reported of its own boots; `profile` is its capture, if there is one.
    """

    label: str
    image: str
    values: tuple[float, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    boots: tuple[PublishedBoot, ...] = ()
    profile: Profile | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedSeries:
    """All variants on one workload."""

    workload: str
    unit: str
    variants: tuple[PublishedVariant, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetUpRow:
    """One fact of the lab under one workload; `workload` is empty when it is the same under all.

    `values` are those of each variant, the base's first, NOT_TOLD for a boot that did not tell, and
    null for a variant of which nothing is reported. It `differs` when the variants do not share it.
    """

    name: str
    workload: str
    values: tuple[str | None, ...]
    differs: bool


def set_ups(all_series: Sequence[PublishedSeries]) -> tuple[SetUpRow, ...]:
    """What the lab reported of the variants' own boots, in that order; equal rows once."""
    names = dict.fromkeys(
        name for series in all_series for variant in series.variants for name in variant.facts
    )
    return tuple(row for name in names for row in _rows_of(name, all_series))


def told(row: SetUpRow, labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each value of a row with what it is of, in words; once, and of nothing, when all share it."""
    sides = zip(labels, row.values, strict=True)
    known = [(label, value) for label, value in sides if value is not None]
    if not row.differs:
        yield row.workload, known[0][1]
        return
    for label, value in known:
        yield ", ".join(filter(None, (label, row.workload))), value


def _rows_of(name: str, all_series: Sequence[PublishedSeries]) -> Iterator[SetUpRow]:
    by_workload = {
        series.workload: tuple(
            variant.facts.get(name, NOT_TOLD) if variant.facts else None
            for variant in series.variants
        )
        for series in all_series
        if any(variant.facts for variant in series.variants)
    }
    shared = _shared(list(by_workload.values()))
    rows = by_workload if shared is None else {"": shared}
    for workload, values in rows.items():
        differs = len({value for value in values if value is not None}) > 1
        yield SetUpRow(name=name, workload=workload, values=values, differs=differs)


def _shared(rows: Sequence[tuple[str | None, ...]]) -> tuple[str | None, ...] | None:
    """One row that says what all say; none when two contradict each other."""
    found: list[str | None] = []
    for column in zip(*rows, strict=True):
        values = {value for value in column if value is not None}
        if len(values) > 1:
            return None
        found.append(next(iter(values), None))
    return tuple(found)
