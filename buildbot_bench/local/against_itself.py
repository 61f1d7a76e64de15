"""One revision measured against itself: the noise of runs and images, and what causes it."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from buildbot_bench.core.compare.schedule import next_block
from buildbot_bench.core.compare.sensitivity import Sensitivity, sensitivity
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import is_alike
from buildbot_bench.core.revision import Revision
from buildbot_bench.lab.command.machine import governors
from buildbot_bench.local.bench import EPOCH, Bench
from buildbot_bench.local.campaign import Watcher
from buildbot_bench.local.comparing import ComparisonCourse, VariantCourse
from buildbot_bench.local.store import StoredBuild

MOST_OF_ITSELF = 4
"""Images that are built of one revision: three degrees of freedom tell how far images differ."""

_CPU = Path("/sys/devices/system/cpu")
_STAT = Path("/proc/stat")
_STEAL = 7  # of the numbers behind `cpu` in /proc/stat (proc(5)): ticks that a neighbour took
_MUCH_STEAL = 0.01
_TWO = 2  # runs of an image, without which nothing shows how these differ
_MUCH_LOAD = 0.5  # of the processors, beside the run itself


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseCause:
    """What makes runs vary on this machine, and the line that ends it."""

    what: str
    remedy: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AgainstItself:
    """What came of it: `values` by image, in `unit`, of runs that took `seconds` on average.

    `alike`: a build was made again and gave the same.
    """

    revision: Revision
    unit: str
    values: dict[int, tuple[float, ...]]
    seconds: float
    is_built: bool
    alike: bool
    found: Sensitivity
    causes: tuple[NoiseCause, ...]


def measure_itself(
    revision: Revision,
    bench: Bench,
    onlooker: Watcher[ComparisonCourse],
    *,
    runs: int,
    images: int,
) -> AgainstItself:
    """Run the first image, and up to so many if they differ, so often each, in turns.

    Raises UntestableRevision: it does not build or run. Raises InfraError: the machine or the
    command keeps it from going on.
    """
    is_built = bool(bench.campaign.recipe.steps)

    def built(ordinal: int) -> StoredBuild:
        begin = partial(onlooker.notice, f"building {revision.short_sha}, build {ordinal}")
        return bench.built(revision, ordinal, revision.short_sha, onlooker, begin)

    # As often as two variants would run, where these would be the same image.
    made = [built(0)]
    alike = False
    while is_built and len(made) < images and not alike:
        image = built(len(made))
        alike = is_alike(image, made[0])
        if not alike:
            made.append(image)
    each = max(runs, _TWO) if len(made) > 1 else 2 * runs
    before = _ticks()
    while block := next_block(
        [Counter({0: len(own)}) for own in _values(bench, made)], [{0: each}] * len(made)
    ):
        bench.run(made[block.variant], "it", onlooker)
        _look(revision, bench, onlooker, (made, each), block.variant)
    values = dict(enumerate(_values(bench, made)))
    if (least := min(map(min, values.values()))) <= 0:
        raise UsageError(
            f"a run gave {least:g}, of which no change is a share",
            hint="measure a value above 0",
        )
    ids = {one.id for one in made}
    took = [one.duration_s for one in bench.iterations() if one.image_id in ids and one.value]
    return AgainstItself(
        revision=revision,
        unit=bench.campaign.workload.metric.unit,
        values=values,
        seconds=sum(took) / len(took),
        is_built=is_built,
        alike=alike,
        found=sensitivity(values, is_built=is_built),
        causes=tuple(_causes(before)),
    )


def _values(bench: Bench, made: list[StoredBuild]) -> list[tuple[float, ...]]:
    runs = [one for one in bench.iterations() if one.value is not None and one.epoch == EPOCH]
    return [tuple(one.value or 0.0 for one in runs if one.image_id == of.id) for of in made]


def _look(
    revision: Revision,
    bench: Bench,
    onlooker: Watcher[ComparisonCourse],
    of: tuple[list[StoredBuild], int],
    last: int,
) -> None:
    made, each = of
    variants = tuple(
        VariantCourse(label=f"build {place}", values=own, wanted=max(each, len(own)), images=1)
        for place, own in enumerate(_values(bench, made))
    )
    onlooker.show(
        ComparisonCourse(
            title=f"{revision.short_sha} against itself: {bench.campaign.name}",
            unit=bench.campaign.workload.metric.unit,
            variants=variants,
            now="",
            last=variants[last],
        )
    )


def _ticks() -> tuple[int, int]:
    """Ticks of all processors by now, and those of them that a neighbour took (Linux)."""
    try:
        words = _STAT.read_text(encoding="ascii").splitlines()[0].split()[1:]
        numbers = [int(word) for word in words[: _STEAL + 1]]
    except (OSError, ValueError, IndexError):
        return 0, 0
    return sum(numbers), numbers[_STEAL] if len(numbers) > _STEAL else 0


def _causes(before: tuple[int, int]) -> Iterator[NoiseCause]:
    """What of it this machine shows, the usual ones of noise between runs."""
    if unsteady := ", ".join(sorted(governors() - {"performance"})):
        yield NoiseCause(
            what=f"the governor {unsteady} changes the processors' frequency",
            remedy="cpupower frequency-set --governor performance",
        )
    if _reads("intel_pstate/no_turbo") == "0":
        yield NoiseCause(
            what="turbo makes a processor the faster the cooler it is",
            remedy=f"echo 1 > {_CPU}/intel_pstate/no_turbo",
        )
    elif _reads("cpufreq/boost") == "1":
        yield NoiseCause(
            what="boost makes a processor the faster the cooler it is",
            remedy=f"echo 0 > {_CPU}/cpufreq/boost",
        )
    if _reads("smt/active") == "1":
        yield NoiseCause(
            what="two hyper-threads share a core",
            remedy=f"echo off > {_CPU}/smt/control, or --cpus with one of each core",
        )
    all_ticks, stolen = (now - then for now, then in zip(_ticks(), before, strict=True))
    if all_ticks and stolen / all_ticks > _MUCH_STEAL:
        yield NoiseCause(
            what=f"other virtual machines took {stolen / all_ticks:.0%} of the time",
            remedy="measure `cpu` or `instructions`, or take a machine of your own",
        )
    others = os.getloadavg()[0] - 1
    if others > _MUCH_LOAD * (os.cpu_count() or 1):
        yield NoiseCause(
            what=f"some {others:.0f} other processes run here",
            remedy="end them, or pin the run to a processor that they leave: --cpus",
        )


def _reads(name: str) -> str:
    try:
        return (_CPU / name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
