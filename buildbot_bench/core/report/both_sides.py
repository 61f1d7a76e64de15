"""Setup, artefacts, cost and scope on both sides of a step."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from buildbot_bench.core import ministat
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.figures import count, fine_percent, listed
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.model.thresholds import is_change
from buildbot_bench.core.report.context import ImageRecord, SeriesSamples
from buildbot_bench.core.report.evidence_model import BootedImage, Cost, Fact, Reach, ScopeRow
from buildbot_bench.core.report.model import ProbeRecord, Setting, StepReport
from buildbot_bench.core.sample import Sample

NOT_REPORTED = "(not reported)"
# What the lab reports of the kernel itself, and no manifest: it differs wherever the kernel does.
KERNEL_FACTS = frozenset({"uname", "kernel configuration"})

_CONFIRMED: dict[Standing | None, Reach] = {
    Standing.CONFIRMED: Reach.CHANGED,
    Standing.DENIED: Reach.UNCHANGED,
}

_FACT_COLUMNS = 24
_NAME_COLUMNS = 40


def setup(
    images: Sequence[ImageRecord], old: Iterable[int], new: Iterable[int]
) -> tuple[Fact, ...]:
    """The facts of the images on both sides, those that differ first, then by name."""
    before, after = (_facts(_at(images, positions)) for positions in (old, new))
    facts = [
        Fact(name=name, old=before.get(name, NOT_REPORTED), new=after.get(name, NOT_REPORTED))
        for name in sorted(before.keys() | after.keys())
    ]
    return tuple(sorted(facts, key=lambda fact: not fact.differs))


def artefacts(images: Sequence[ImageRecord], positions: Iterable[int]) -> tuple[BootedImage, ...]:
    """What was booted at some positions, oldest revision first."""
    return tuple(
        BootedImage(
            label=one_line(image.label, columns=_FACT_COLUMNS),
            image=image.ordinal,
            digest=one_line(image.digest or "unknown"),
            iterations=image.iterations,
        )
        for image in _at(images, positions)
        if image.iterations
    )


def cost(probes: Sequence[ProbeRecord], images: Sequence[ImageRecord]) -> Cost | None:
    """What the probes of a search took; None when it made none.

    What never booted took nothing. Build time is that of the images that its probes booted.
    """
    made = [probe for probe in probes if probe.made]
    if not made:
        return None
    booted = {(probe.label, probe.image) for probe in made}
    built = [image for image in images if (image.label, image.ordinal) in booted]
    return Cost(
        boots=len(made),
        failed=sum(probe.value is None for probe in made),
        lab_s=sum(probe.duration_s for probe in made),
        images=len(built),
        build_s=sum(image.build_s or 0.0 for image in built),
    )


def growth(
    images: Sequence[ImageRecord], step: StepReport, old: int, new: int, *, built: str
) -> str:
    """Say how the kernels' sizes differ at a step between two positions; empty where they do not.

    A kernel is called `built`. First images count: another link order pads elsewhere.
    """
    first = {image.position: image for image in images if image.ordinal == 0}
    if old not in first or new not in first:
        return ""
    changes = []
    ends = first[old], first[new]
    sizes = ((image.text_bytes, image.data_bytes, image.bss_bytes) for image in ends)
    for part, before, after in zip(("text", "data", "bss"), *sizes, strict=True):
        if before is not None and after is not None and before != after:
            by = f" ({fine_percent(after / before - 1)})" if before else ""
            more = "more" if after > before else "less"
            changes.append(f"{count(abs(after - before), 'byte')} {more} {part}{by}")
    label, than = (one_line(side.label, columns=_NAME_COLUMNS) for side in (step.new, step.old))
    return f"The {built} of {label} has {listed(changes)} than that of {than}." if changes else ""


def _at(images: Sequence[ImageRecord], positions: Iterable[int]) -> Iterator[ImageRecord]:
    wanted = set(positions)
    ordered = sorted(images, key=lambda image: (image.position, image.ordinal))
    return (image for image in ordered if image.position in wanted)


def _facts(images: Iterable[ImageRecord]) -> dict[str, str]:
    """Each fact's name with its value, or all where boots do not agree; none of the kernel."""
    found: dict[str, set[str]] = {}
    for image in images:
        for name, value in image.facts:
            if name in KERNEL_FACTS:
                continue
            found.setdefault(one_line(name, columns=_FACT_COLUMNS), set()).add(one_line(value))
    return {name: one_line(" or ".join(sorted(values))) for name, values in found.items()}


def scope(
    step: StepReport, old: int, new: int, all_series: Sequence[SeriesSamples], setting: Setting
) -> tuple[ScopeRow, ...]:
    """The reported row, then one for each other series; none when there is no other.

    The named values of runs come last, the largest change first.
    """
    others = [_row(series, step, old, new, setting) for series in all_series]
    if not others:
        return ()
    any_value = any(series.value for series in all_series)
    of_values = {id(row) for row, series in zip(others, all_series, strict=True) if series.value}
    reported = ScopeRow(
        testbed=setting.testbed,
        workload=_named(setting.workload, setting.metric.name if any_value else ""),
        reach=Reach.CHANGED,
        effect=step.effect,
        error=(step.high - step.low) / 2,
        old=step.old.label,
        new=step.new.label,
        commits=new - old,
        reported=True,
    )

    def order(row: ScopeRow) -> tuple[bool, float, str, str]:
        size = abs(row.effect or 0.0) if id(row) in of_values else 0.0
        return id(row) in of_values, -size, row.testbed, row.workload

    return (reported, *sorted(others, key=order))


def _named(workload: str, value: str) -> str:
    return f"{value} of {workload}" if value else workload


def _row(series: SeriesSamples, step: StepReport, old: int, new: int, setting: Setting) -> ScopeRow:
    row = ScopeRow(
        testbed=one_line(series.testbed, columns=_NAME_COLUMNS),
        workload=_named(
            one_line(series.workload, columns=_NAME_COLUMNS),
            series.value and f"value {one_line(series.value, columns=_NAME_COLUMNS)}",
        ),
        reach=Reach.NOT_MEASURED,
        standing=series.standing,
    )
    if series.effect is not None and series.low is not None and series.high is not None:
        return replace(
            row,
            reach=_CONFIRMED.get(series.standing, Reach.UNCLEAR),
            effect=series.effect,
            error=(series.high - series.low) / 2,
            old=step.old.label,
            new=step.new.label,
            commits=new - old,
        )
    known = sorted((s for s in series.samples if s.values), key=lambda sample: sample.position)
    before = _nearest([sample for sample in reversed(known) if sample.position <= old])
    after = _nearest([sample for sample in known if sample.position >= new])
    try:
        held = ministat.compare(_values(before), _values(after), confidence=setting.confidence)
    except UsageError:  # too few values on a side, or none that a t-test can take
        return row
    effect, error = held.difference_percent / 100, abs(held.error_percent) / 100
    return replace(
        row,
        reach=_reach(effect, error, held.significant, setting.min_effect),
        effect=effect,
        error=error,
        old=one_line(before[-1].label, columns=_NAME_COLUMNS),
        new=one_line(after[-1].label, columns=_NAME_COLUMNS),
        commits=after[-1].position - before[-1].position,
    )


def _reach(effect: float, error: float, significant: bool, min_effect: float) -> Reach:
    if significant and is_change(effect, min_effect):
        return Reach.CHANGED
    if not is_change(abs(effect) + error, min_effect):
        return Reach.UNCHANGED
    return Reach.UNCLEAR


def _nearest(ordered: Sequence[Sample]) -> list[Sample]:
    """The nearest samples, as many as Student's t needs values."""
    taken: list[Sample] = []
    for sample in ordered:
        if len(_values(taken)) >= ministat.MIN_VALUES and sample.position != taken[-1].position:
            break
        taken.append(sample)
    return taken


def _values(samples: Iterable[Sample]) -> list[float]:
    return [value for sample in samples for value in sample.values]
