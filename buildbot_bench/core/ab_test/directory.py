"""A comparison as the result directories of the netbenches archive; it writes no file.

One directory for each testbed; `published` says what lies in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from buildbot_bench.core.ab_test.model import AbTestReport, SeriesReport
from buildbot_bench.core.ab_test.published import (
    PublishedBoot,
    PublishedSeries,
    PublishedVariant,
    capture_name,
    published_files,
    safe,
)
from buildbot_bench.core.ab_test.schedule import AbTestSide
from buildbot_bench.core.ab_test.text import markdown
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.profile import Profile
from buildbot_bench.core.run_logs import is_cut, split_logs

GRAPH = "graph.png"

_MARKS = re.compile(r"\+(?:commit:|file:|sysctl:|options:)?")
_FACT_COLUMNS = 400  # as the lab tells them: FreeBSD's uname -a is long


@dataclass(frozen=True, kw_only=True, slots=True)
class BootLog:
    """One boot that gave a value; `ordinal` counts the boots of a side from 1.

    `log` has the logs of all its ends, as `join_logs` writes them; it is not `whole` when it does
    not give the boot's value. `facts` are what the lab told of this boot.
    """

    testbed: str
    workload: str
    side: AbTestSide
    ordinal: int
    log: str
    whole: bool = True
    facts: Mapping[str, str] = field(default_factory=dict)


# The captures by testbed, workload and side.
Profiles = Mapping[tuple[str, str, AbTestSide], Profile]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A directory of the result: one testbed's series; `place` is empty or ends with a slash."""

    place: str
    series: tuple[SeriesReport, ...]

    @property
    def measured(self) -> tuple[SeriesReport, ...]:
        """The series that have values: what there is to draw."""
        return tuple(
            series
            for series in self.series
            if series.contrast.old.values or series.contrast.new.values
        )


def parts(report: AbTestReport) -> tuple[Part, ...]:
    """A part for each testbed: the whole result, or a directory of it if there are several."""
    testbeds = list(dict.fromkeys(series.testbed for series in report.series))
    return tuple(
        Part(
            place=f"{safe(testbed)}/" if len(testbeds) > 1 else "",
            series=tuple(series for series in report.series if series.testbed == testbed),
        )
        for testbed in testbeds
    )


def result_files(
    report: AbTestReport, boots: Iterable[BootLog], profiles: Profiles | None = None
) -> dict[str, str]:
    """The text of each file by its path."""
    logs = list(boots)
    files: dict[str, str] = {}
    for part in parts(report):
        title = f"{report.new} against {report.base}"
        texts = published_files(
            title,
            markdown(replace(report, series=part.series)),
            published_series(report, part, logs, profiles or {}),
            graph=GRAPH if part.measured else "",
            flame_graphs=flame_graph_names(report, part, profiles or {}),
        )
        files |= {f"{part.place}{path}": text for path, text in texts.items()}
    return files


def flame_graph_names(report: AbTestReport, part: Part, profiles: Profiles) -> dict[str, str]:
    """The file of each flame graph of a part, with what it shows."""
    images, labels = image_names(report.base, report.new), _labels(report)
    names: dict[str, str] = {}
    for series in part.series:
        there = [s for s in images if (series.testbed, series.workload, s) in profiles]
        for side in there:
            name = f"{capture_name(images[side], series.workload)}.svg"
            names[name] = f"{labels[side]} and {series.workload}"
        for side in there[1:] if AbTestSide.BASE in there else ():
            name = f"{capture_name(images[side], series.workload)}.difference.svg"
            names[name] = f"{labels[side]} against {report.base} and {series.workload}"
    return names


def published_series(
    report: AbTestReport, part: Part, boots: Sequence[BootLog], profiles: Profiles
) -> tuple[PublishedSeries, ...]:
    """What is published of a part; facts are those of a side's own boots where they told any."""
    images, labels = image_names(report.base, report.new), _labels(report)
    return tuple(
        PublishedSeries(
            workload=series.workload,
            unit=series.metric.unit,
            variants=tuple(
                PublishedVariant(
                    label=labels[side],
                    image=image,
                    values=_values(series, side),
                    facts=facts_of(own) or series.facts,
                    boots=tuple(map(_boot, own)),
                    profile=profiles.get((series.testbed, series.workload, side)),
                )
                for side, image in images.items()
                for own in [_own(boots, series, side)]
            ),
        )
        for series in part.series
    )


def facts_of(boots: Iterable[BootLog]) -> dict[str, str]:
    """Each fact of some boots, with all its values when they do not agree."""
    found: dict[str, dict[str, None]] = {}
    for boot in boots:
        for name, value in boot.facts.items():
            kept = one_line(str(value), columns=_FACT_COLUMNS)
            found.setdefault(one_line(name), {})[kept] = None
    return {name: " or ".join(values) for name, values in found.items()}


def _own(boots: Iterable[BootLog], series: SeriesReport, side: AbTestSide) -> list[BootLog]:
    key = (series.testbed, series.workload, side)
    return [boot for boot in boots if (boot.testbed, boot.workload, boot.side) == key]


def _boot(boot: BootLog) -> PublishedBoot:
    logs = split_logs(boot.log)
    cut = any(map(is_cut, (logs.receiver, *logs.senders)))
    return PublishedBoot(ordinal=boot.ordinal, logs=logs, whole=boot.whole and not cut)


def _labels(report: AbTestReport) -> dict[AbTestSide, str]:
    return {AbTestSide.BASE: report.base, AbTestSide.NEW: report.new}


def image_names(base: str, new: str) -> dict[AbTestSide, str]:
    """The archive's names of two variants: 317849 and 317849VIMAGE for r317849 and r317849+VIMAGE.

    They differ even when the variants' labels do so only in what a file name cannot hold.
    """
    names = {AbTestSide.BASE: _image(base), AbTestSide.NEW: _image(new)}
    if names[AbTestSide.BASE] == names[AbTestSide.NEW]:
        names[AbTestSide.NEW] += ".new"
    return names


def _image(label: str) -> str:
    text = re.sub(r"^r(?=\d)", "", label)
    text = text.replace("+nooptions:", "+no")
    return safe(_MARKS.sub("", text))


def _values(series: SeriesReport, side: AbTestSide) -> tuple[float, ...]:
    return series.contrast.old.values if side is AbTestSide.BASE else series.contrast.new.values
