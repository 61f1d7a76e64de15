"""On what both sides of a step were measured, and what was booted; it compares no values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.model import ProbeRecord
from buildbot_bench.core.report.support import Artefact, Cost, Fact
from buildbot_bench.core.report.surroundings import ImageRecord

_NAME_COLUMNS = 24
NOT_TOLD = "(not told)"


def setup(
    images: Sequence[ImageRecord], old: Iterable[int], new: Iterable[int]
) -> tuple[Fact, ...]:
    """The facts of the images on both sides, those that differ first, then by name."""
    before, after = (_facts(_at(images, positions)) for positions in (old, new))
    facts = [
        Fact(name=name, old=before.get(name, NOT_TOLD), new=after.get(name, NOT_TOLD))
        for name in sorted(before.keys() | after.keys())
    ]
    return tuple(sorted(facts, key=lambda fact: not fact.differs))


def artefacts(images: Sequence[ImageRecord], positions: Iterable[int]) -> tuple[Artefact, ...]:
    """What was booted at some positions, oldest revision first."""
    return tuple(
        Artefact(
            label=one_line(image.label, columns=_NAME_COLUMNS),
            image=image.ordinal,
            digest=one_line(image.digest or "unknown"),
            iterations=image.iterations,
        )
        for image in _at(images, positions)
        if image.iterations
    )


def cost(probes: Sequence[ProbeRecord], images: Sequence[ImageRecord]) -> Cost | None:
    """What the probes of a search took; None when it asked for none.

    Build time is that of the images that its probes booted, whoever had them built.
    """
    if not probes:
        return None
    booted = {(probe.label, probe.image) for probe in probes}
    built = [image for image in images if (image.label, image.ordinal) in booted]
    return Cost(
        boots=len(probes),
        failed=sum(probe.value is None for probe in probes),
        lab_s=sum(probe.duration_s for probe in probes),
        images=len(built),
        build_s=sum(image.build_s or 0.0 for image in built),
    )


def _at(images: Sequence[ImageRecord], positions: Iterable[int]) -> Iterator[ImageRecord]:
    wanted = set(positions)
    ordered = sorted(images, key=lambda image: (image.position, image.ordinal))
    return (image for image in ordered if image.position in wanted)


def _facts(images: Iterable[ImageRecord]) -> dict[str, str]:
    """Each fact's name with its value; with all of them when the boots do not agree."""
    told: dict[str, set[str]] = {}
    for image in images:
        for name, value in image.facts:
            told.setdefault(one_line(name, columns=_NAME_COLUMNS), set()).add(one_line(value))
    return {name: one_line(" or ".join(sorted(values))) for name, values in told.items()}
