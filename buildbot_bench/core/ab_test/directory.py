"""A comparison as the files of a result directory of the netbenches archive; it writes none.

README.md        what was compared on what, graph, table, one ministat block per workload
graph.png        drawn elsewhere, from `parts`
gnuplot.data     index, median, minimum and maximum of each image and workload
IMAGE.CFG.pps    one value per boot
RAW/             bench.IMAGE.CFG.N.receiver: the logs; bench.IMAGE.CFG.info: the set-up
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from buildbot_bench.core.ab_test.model import AbTestReport, SeriesReport
from buildbot_bench.core.ab_test.text import markdown

GRAPH = "graph.png"

_MARKS = re.compile(r"\+(?:commit:|file:|sysctl:|options:)?")
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_SPECIAL = re.compile(r'(["\\$`])')


@dataclass(frozen=True, kw_only=True, slots=True)
class BootLog:
    """The log of one boot that gave a value.

    `variant` counts from the base, which is 0; `ordinal` counts a variant's boots from 1.
    """

    testbed: str
    workload: str
    variant: int
    ordinal: int
    log: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A directory of the result: one testbed's series; `place` is empty or ends with a slash."""

    place: str
    series: tuple[SeriesReport, ...]

    @property
    def measured(self) -> tuple[SeriesReport, ...]:
        """The series that have values: what there is to draw."""
        return tuple(series for series in self.series if series.is_measured)


def parts(report: AbTestReport) -> tuple[Part, ...]:
    """A part for each testbed: the whole result, or a directory of it if there are several."""
    testbeds = list(dict.fromkeys(series.testbed for series in report.series))
    return tuple(
        Part(
            place=f"{_safe(testbed)}/" if len(testbeds) > 1 else "",
            series=tuple(series for series in report.series if series.testbed == testbed),
        )
        for testbed in testbeds
    )


def result_files(report: AbTestReport, boots: Iterable[BootLog]) -> dict[str, str]:
    """The text of each file by its path."""
    images = image_names([variant.label for variant in report.variants])
    logs = list(boots)
    files: dict[str, str] = {}
    for part in parts(report):
        testbeds = {series.testbed for series in part.series}
        here = [boot for boot in logs if boot.testbed in testbeds]
        written = _files(report, part, here, images)
        files |= {f"{part.place}{path}": text for path, text in written}
    return files


def image_names(labels: Iterable[str]) -> tuple[str, ...]:
    """The archive's names of variants: 317849 and 317849VIMAGE for r317849 and r317849+VIMAGE.

    They differ even when the variants' labels do so only in what a file name cannot hold.
    """
    names: list[str] = []
    for label in labels:
        name, number = _image(label), 2
        while name in names:
            name, number = f"{_image(label)}.{number}", number + 1
        names.append(name)
    return tuple(names)


def _image(label: str) -> str:
    text = re.sub(r"^r(?=\d)", "", label)
    text = text.replace("+nooptions:", "+no")
    return _safe(_MARKS.sub("", text))


def _files(
    report: AbTestReport,
    part: Part,
    boots: Sequence[BootLog],
    images: Sequence[str],
) -> Iterator[tuple[str, str]]:
    yield "README.md", _readme(report, part)
    yield "gnuplot.data", _gnuplot_data(part.series, images)
    for series in part.series:
        workload = _safe(series.workload)
        for image, sample in zip(images, series.samples, strict=True):
            values = sample.values
            yield f"{image}.{workload}.pps", "".join(f"{_number(v)}\n" for v in values)
            yield f"RAW/bench.{image}.{workload}.info", _info(image, workload, series.facts)
    for boot in boots:
        name = f"bench.{images[boot.variant]}.{_safe(boot.workload)}.{boot.ordinal}.receiver"
        yield f"RAW/{name}", boot.log


def _readme(report: AbTestReport, part: Part) -> str:
    facts = {name: value for series in part.series for name, value in series.facts.items()}
    setting = [f"  - {name}: {value}" for name, value in facts.items()]
    graph = ["", f"![{report.title}]({GRAPH})"] if part.measured else []
    body = markdown(replace(report, series=part.series))
    return "\n".join([report.title, *setting, *graph, "", body])


def _gnuplot_data(all_series: Sequence[SeriesReport], images: Sequence[str]) -> str:
    lines = ["#index median minimum maximum"]
    for series in all_series:
        for image, sample in zip(images, series.samples, strict=True):
            if values := sample.values:
                figures = (median(values), min(values), max(values))
                row = " ".join(map(_number, figures))
                lines.append(f"{image}.{_safe(series.workload)} {row}")
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


def _safe(name: str) -> str:
    """A name that is one path component and no other: no slash, and never a dot alone."""
    return _STRANGE.sub("-", name).strip("-.") or "unnamed"


def _number(value: float) -> str:
    return f"{value:.15g}"
