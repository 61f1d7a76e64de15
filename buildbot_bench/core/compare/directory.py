"""A comparison as result directories of the netbenches archive, one for each testbed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from buildbot_bench.core.compare.model import ComparisonReport, SeriesReport
from buildbot_bench.core.compare.published import (
    PublishedBoot,
    PublishedSeries,
    PublishedVariant,
    capture_name,
    published_files,
    safe,
)
from buildbot_bench.core.compare.text import markdown
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import is_cut, split_logs

GRAPH = "graph.png"

_MARKS = re.compile(r"\+(?:commit:|file:|sysctl:|options:)?")
_TAKEN = "gnuplot"  # gnuplot.data is of all images
_FACT_COLUMNS = 400  # as the lab tells them: FreeBSD's uname -a is long


@dataclass(frozen=True, kw_only=True, slots=True)
class BootLog:
    """One boot that gave a value.

    `variant` counts from the base, which is 0; `ordinal` counts a variant's boots from 1. `log` has
    the logs of all its ends, as `join_logs` writes them; it is not `whole` when it does not give
    the boot's value. `facts` are what the lab reported of this boot.
    """

    testbed: str
    workload: str
    variant: int
    ordinal: int
    log: str
    whole: bool = True
    facts: Mapping[str, str] = field(default_factory=dict)


# The captures by testbed, workload and variant, of which the base is 0.
Profiles = Mapping[tuple[str, str, int], Profile]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A directory of the result: one testbed's series; `place` is empty or ends with a slash."""

    place: str
    series: tuple[SeriesReport, ...]

    @property
    def measured(self) -> tuple[SeriesReport, ...]:
        """The series that have values: all that can be drawn."""
        return tuple(series for series in self.series if series.is_measured)


def parts(report: ComparisonReport) -> tuple[Part, ...]:
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
    report: ComparisonReport, boots: Iterable[BootLog], profiles: Profiles | None = None
) -> dict[str, str]:
    """The text of each file by its path."""
    logs = list(boots)
    files: dict[str, str] = {}
    for part in parts(report):
        texts = published_files(
            report.title,
            markdown(replace(report, series=part.series)),
            published_series(report, part, logs, profiles or {}),
            graph=GRAPH if part.measured else "",
            flame_graphs=flame_graph_names(report, part, profiles or {}),
        )
        files |= {f"{part.place}{path}": text for path, text in texts.items()}
    return files


def flame_graph_names(report: ComparisonReport, part: Part, profiles: Profiles) -> dict[str, str]:
    """The file of each flame graph of a part, with what it shows."""
    labels = [variant.label for variant in report.variants]
    images = image_names(labels)
    names: dict[str, str] = {}
    for series in part.series:
        where = (series.testbed, series.workload)
        there = [place for place in range(len(images)) if (*where, place) in profiles]
        for place in there:
            name = f"{capture_name(images[place], series.workload)}.svg"
            names[name] = f"{labels[place]} and {series.workload}"
        for place in there[1:] if 0 in there else ():
            name = f"{capture_name(images[place], series.workload)}.difference.svg"
            names[name] = f"{labels[place]} against {labels[0]} and {series.workload}"
    return names


def published_series(
    report: ComparisonReport, part: Part, boots: Sequence[BootLog], profiles: Profiles
) -> tuple[PublishedSeries, ...]:
    """What is published of a part; facts are the series' where no boot reported any."""
    labels = [variant.label for variant in report.variants]
    images = image_names(labels)
    found: list[PublishedSeries] = []
    for series in part.series:
        where = (series.testbed, series.workload)
        here = [boot for boot in boots if (boot.testbed, boot.workload) == where]
        shared = {} if any(boot.facts for boot in here) else series.facts
        variants: list[PublishedVariant] = []
        for place, (label, image) in enumerate(zip(labels, images, strict=True)):
            own = [boot for boot in here if boot.variant == place]
            variants.append(
                PublishedVariant(
                    label=label,
                    image=image,
                    values=series.samples[place].values,
                    facts=facts_of(own) or shared,
                    boots=tuple(map(_boot, own)),
                    profile=profiles.get((*where, place)),
                )
            )
        found.append(
            PublishedSeries(
                workload=series.workload, unit=series.metric.unit, variants=tuple(variants)
            )
        )
    return tuple(found)


def facts_of(boots: Iterable[BootLog]) -> dict[str, str]:
    """Each fact of some boots, with all its values when they do not agree."""
    found: dict[str, dict[str, None]] = {}
    for boot in boots:
        for name, value in boot.facts.items():
            kept = one_line(str(value), columns=_FACT_COLUMNS)
            found.setdefault(one_line(name), {})[kept] = None
    return {name: " or ".join(values) for name, values in found.items()}


def _boot(boot: BootLog) -> PublishedBoot:
    logs = split_logs(boot.log)
    cut = any(map(is_cut, (logs.receiver, *logs.senders)))
    return PublishedBoot(ordinal=boot.ordinal, logs=logs, whole=boot.whole and not cut)


def image_names(labels: Iterable[str]) -> tuple[str, ...]:
    """The archive's names of variants: 317849 and 317849VIMAGE for r317849 and r317849+VIMAGE.

    They differ even when the variants' labels do so only in what a file name cannot hold, and
    none is that of another file beside IMAGE.data.
    """
    names: list[str] = []
    for label in labels:
        name, number = _image(label), 2
        while name in (_TAKEN, *names):
            name, number = f"{_image(label)}.{number}", number + 1
        names.append(name)
    return tuple(names)


def _image(label: str) -> str:
    text = re.sub(r"^r(?=\d)", "", label)
    text = text.replace("+nooptions:", "+no")
    return safe(_MARKS.sub("", text))
