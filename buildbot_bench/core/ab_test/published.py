"""The files of a result directory as the netbenches archive has them; it draws and writes none.

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

from buildbot_bench.core.ab_test.gnuplot import gnuplot_script
from buildbot_bench.core.profile import Profile, format_folded, format_gprof, format_pmc_graph
from buildbot_bench.core.run_logs import RunLogs

_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_SPECIAL = re.compile(r'(["\\$`])')
_MEANS_SOMETHING = re.compile(r"[<>\[\]*|`&]|\b_|_\b")  # to Markdown or HTML
NOT_TOLD = "(not told)"
_LONGEST_NAME = 100  # characters
# What the archive calls a fact of ours; a second sender's command is PKTGEN 2.
_NAMES = {"uname": "UNAME"}
_COMMAND = re.compile(r"sender (\d{1,2}) command", re.ASCII)


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
    that the lab told of its own boots; `profile` is its capture, if there is one.
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


def published_files(
    title: str,
    body: str,
    all_series: Sequence[PublishedSeries],
    *,
    graph: str = "",
    flame_graphs: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The texts of one testbed's directory by their paths.

    `body` is the comparison in Markdown, `graph` the picture's file name, and `flame_graphs` those
    of flame graphs, each with what it shows.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class SetUpFact:
    """One fact of the lab; `of` names the variants and workloads that it is of, empty for all.

    It `differs` when the variants do not share it on some workload.
    """

    name: str
    of: str
    value: str
    differs: bool


def set_ups(all_series: Sequence[PublishedSeries]) -> tuple[SetUpFact, ...]:
    """What the lab told of the variants' own boots, in the order told; equal values once."""
    told: dict[str, dict[tuple[str, str], str]] = {}
    for series in all_series:
        for variant in series.variants:
            for name, value in variant.facts.items():
                told.setdefault(name, {})[variant.label, series.workload] = value
    asked = [
        (v.label, series.workload) for series in all_series for v in series.variants if v.facts
    ]
    return tuple(
        fact
        for name, values in told.items()
        for fact in _told(name, {key: values.get(key, NOT_TOLD) for key in asked})
    )


def _told(name: str, values: Mapping[tuple[str, str], str]) -> Iterator[SetUpFact]:
    by_variant, by_workload = _by(values, 0), _by(values, 1)
    differs = any(len(found) > 1 for found in by_workload.values())
    if len(set(values.values())) == 1:
        grouped = {"": next(iter(values.values()))}
    elif not differs:
        grouped = {workload: found[0] for workload, found in by_workload.items()}
    elif all(len(found) == 1 for found in by_variant.values()):
        grouped = {label: found[0] for label, found in by_variant.items()}
    else:
        grouped = {", ".join(key): value for key, value in values.items()}
    for of, value in grouped.items():
        yield SetUpFact(name=name, of=of, value=value, differs=differs)


def _by(values: Mapping[tuple[str, str], str], place: int) -> dict[str, list[str]]:
    """The different values by variant (0) or by workload (1)."""
    found: dict[str, dict[str, None]] = {}
    for key, value in values.items():
        found.setdefault(key[place], {})[value] = None
    return {name: list(different) for name, different in found.items()}


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
    for fact in set_ups(all_series):
        of = f" of {fact.of}" if fact.of else ""
        lines.append(f"  - {_named(fact.name)}{of}: {_quoted(fact.value)}")
    if graph:
        lines += ["", f"![{title}]({graph})"]
    lines += ["", body.rstrip("\n")]
    if flame_graphs:
        lines += ["", "flame graph:"]
        lines += [f"  - [{about}]({path})" for path, about in flame_graphs.items()]
    if cut := sum(not boot.whole for boot in _boots(all_series)):
        lines += ["", f"The logs of {cut} boots are not whole: in RAW/ their names end in .cut."]
    return "\n".join(lines) + "\n"


def _boots(all_series: Sequence[PublishedSeries]) -> Iterator[PublishedBoot]:
    for series in all_series:
        for variant in series.variants:
            yield from variant.boots


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
    """The set-up as a file that sh(1) can read; its values are quoted, whatever they hold."""
    settings = {"IMAGE": image, "CFG": workload, "PKTGEN": "", "UNAME": facts.get("uname", "")}
    settings |= {f"FACT_{_variable(name)}": value for name, value in facts.items()}
    return "".join(f'{name}="{_SPECIAL.sub(_escaped, v)}"\n' for name, v in settings.items())


def _escaped(match: re.Match[str]) -> str:
    return "\\" + match[1]


def _variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).upper()


def safe(name: str) -> str:
    """A name that is one path component and no other: no slash, and never a dot alone."""
    return _STRANGE.sub("-", name)[:_LONGEST_NAME].strip("-.") or "unnamed"


def number(value: float) -> str:
    """A value so that the same is read again: as short as the archive's, or with all its digits."""
    short = f"{value:.15g}"
    return short if float(short) == value else repr(value)
