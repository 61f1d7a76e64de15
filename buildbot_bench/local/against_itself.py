"""One revision measured against itself: the noise of runs and images, and what causes it."""

from collections import Counter
from dataclasses import dataclass
from functools import partial

from buildbot_bench.core.compare.schedule import next_block
from buildbot_bench.core.compare.sensitivity import Sensitivity, sensitivity
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import is_alike
from buildbot_bench.core.revision import Revision
from buildbot_bench.lab.command.machine import NoiseCause, noise_causes, ticks
from buildbot_bench.local.bench import EPOCH, Bench
from buildbot_bench.local.campaign import Watcher
from buildbot_bench.local.comparing import ComparisonCourse, VariantCourse
from buildbot_bench.local.store import StoredBuild

MOST_OF_ITSELF = 4
"""Images that are built of one revision: three degrees of freedom tell how far images differ."""

_TWO = 2  # runs of an image, without which nothing shows how these differ


@dataclass(frozen=True, kw_only=True, slots=True)
class AgainstItself:
    """What came of it: `values` by image, in `unit`, of runs that took `seconds` on average.

    `alone` is why nothing shows how images differ, where there is but one; `noun` is what a run of
    it is called; `here`: this machine ran it, so that what it shows of `causes` counts.
    """

    title: str
    unit: str
    values: dict[int, tuple[float, ...]]
    seconds: float
    is_built: bool
    alone: str
    noun: str
    found: Sensitivity
    causes: tuple[NoiseCause, ...]
    here: bool = True


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
    before = ticks()
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
        title=f"{revision.short_sha} {revision.subject}",
        unit=bench.campaign.workload.metric.unit,
        values=values,
        seconds=sum(took) / len(took),
        is_built=is_built,
        alone=_alone(is_built=is_built, alike=alike),
        noun="run",
        found=sensitivity(values, is_built=is_built),
        causes=tuple(noise_causes(before)),
    )


def _alone(*, is_built: bool, alike: bool) -> str:
    if alike:
        return "not known: the build does not heed BENCH_IMAGE"
    return "not known: --images 1 builds one alone" if is_built else "nothing: there is no --build"


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
