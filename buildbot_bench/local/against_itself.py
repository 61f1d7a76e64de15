"""One revision measured against itself, in words: its noise, the causes, what comparisons tell."""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist, fmean, stdev, variance

from buildbot_bench.core.compare.schedule import next_block
from buildbot_bench.core.compare.verdict import VerdictTerms, Worse, compare_sides
from buildbot_bench.core.contrast.difference import SideBoots
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.evidence import is_alike
from buildbot_bench.core.figures import count, fine_percent, hours_text, quantity, size, threshold
from buildbot_bench.core.item import item_of
from buildbot_bench.core.limits import MOST_IMAGES
from buildbot_bench.core.revision import Revision
from buildbot_bench.lab.command.machine import NoiseCause, noise_causes, ticks
from buildbot_bench.local.bench import EPOCH, Bench
from buildbot_bench.local.campaign import Watcher
from buildbot_bench.local.comparing import ComparisonCourse, VariantCourse
from buildbot_bench.local.store import StoredBuild

MOST_OF_ITSELF = 4
"""Images that are built of one revision: three degrees of freedom tell how far images differ."""

_TWO = 2  # runs or images, without which nothing shows how these differ


@dataclass(frozen=True, kw_only=True, slots=True)
class CostOfChange:
    """`images` of each side with `runs` in all show a change of that size; None: no number does."""

    change: float
    images: int | None
    runs: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """Noise as fractions: `run` between runs of one image, `build` between images.

    `build` is None where none was built again; `between` is what the images that were measured
    show, relative to the first one.
    """

    run: float
    build: float | None
    between: tuple[float, ...]
    costs: tuple[CostOfChange, ...]


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


CHANGES = (0.10, 0.05, 0.02, 0.01, 0.005)
"""Sizes of a change, fractions, whose cost is given."""
_RUNS = (3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 125, 160, 200, 250, 320)
_IMAGES = (1, 2, 3, 4, 6, 8, 11, 16, MOST_IMAGES)
_OF_IMAGE = 5  # runs of an image at most: more of them leave the luck of its layout
_LEAST = 1e-6  # of run noise: what repeats leaves ministat nothing to divide by


def sensitivity(images: SideBoots, *, is_built: bool) -> Sensitivity:
    """What these runs of one revision, by image, teach: each image has two at least, all positive.

    What a change costs is found by asking the rule of comparisons itself of sides with this noise:
    the least number at which sides that are as far apart as the change, and vary as expected, get
    a verdict. So it is what a comparison takes in half of all cases.
    """
    logs = [[math.log(value) for value in own] for own in images.values()]
    df = sum(len(own) - 1 for own in logs)
    run = math.sqrt(sum((x - fmean(own)) ** 2 for own in logs for x in own) / df)
    levels = [fmean(own) for own in logs]
    build = _between(levels, logs, run) if is_built and len(levels) > 1 else None
    return Sensitivity(
        run=run,
        build=build,
        between=tuple(math.expm1(level - levels[0]) for level in levels[1:]),
        costs=tuple(_cost(change, run, build, is_built=is_built) for change in CHANGES),
    )


def _between(levels: Sequence[float], logs: Sequence[Sequence[float]], run: float) -> float:
    """The standard deviation of images: of their variance the runs make run² / n."""
    of_runs = fmean(run**2 / len(own) for own in logs)
    return math.sqrt(max(variance(levels) - of_runs, 0.0))


def _cost(change: float, run: float, build: float | None, *, is_built: bool) -> CostOfChange:
    """The least of the sizes that are tried."""
    if build is None:
        tried = [(1, runs) for runs in _RUNS]
    else:
        each = min(max(_TWO, math.ceil(2 * (run / build) ** 2) if build else _OF_IMAGE), _OF_IMAGE)
        tried = [(images, each) for images in _IMAGES]
    terms = VerdictTerms(min_effect=change / 2, layout=is_built, images=build is not None)
    for images, runs in tried:
        base, new = (_expected(level, images, runs, run, build) for level in (1.0, 1 - change))
        if isinstance(compare_sides(base, new, None, terms).verdict, Worse):
            return CostOfChange(change=change, images=images, runs=images * runs)
    return CostOfChange(change=change, images=None, runs=None)


def _expected(level: float, images: int, runs: int, run: float, build: float | None) -> SideBoots:
    """A side whose images and runs lie at even quantiles of their noise."""
    run_scores, image_scores = _scores(runs), _scores(images)
    return {
        place: [level * math.exp((build or 0) * image + max(run, _LEAST) * r) for r in run_scores]
        for place, image in enumerate(image_scores)
    }


def _scores(number: int) -> list[float]:
    """Quantiles of the normal distribution with a standard deviation of one; 0 of a single one."""
    if number < _TWO:
        return [0.0]
    found = [NormalDist().inv_cdf((place + 0.5) / number) for place in range(number)]
    scale = stdev(found)
    return [one / scale for one in found]


_HOUR_S = 3600


def itself_text(seen: AgainstItself) -> str:
    """The answer of an A/A measurement: the noise, the costs, the causes."""
    blocks = [
        [f"{seen.title}, against itself"],
        list(_noise(seen)),
        list(_costs(seen)),
        list(_causes(seen)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _noise(seen: AgainstItself) -> Iterator[str]:
    found, first = seen.found, seen.values[0]
    spread = "a counted value, which repeats" if not found.run else f"{size(found.run)} (sd)"
    runs = sum(map(len, seen.values.values()))
    between = f"from {seen.noun} to {seen.noun}"
    yield f"{between:<21}{spread}, by {count(runs, seen.noun)} of {seen.seconds:.2g} s"
    if found.build is not None:
        apart = ", ".join(map(fine_percent, found.between))
        yield f"from image to image  {size(found.build)} (sd); seen: {apart} from the first one"
    else:
        yield f"from image to image  {seen.alone}"
    yield f"the first image      {quantity(fmean(first))} {seen.unit} on average"


def _costs(seen: AgainstItself) -> Iterator[str]:
    yield "what a comparison takes here to show a change, on average, of each side:"
    for cost in seen.found.costs:
        change = f"  {threshold(cost.change):>5}  "
        if cost.runs is None or cost.images is None:
            yield f"{change}cannot be shown: {_why(seen)}"
            continue
        images = f" in {count(cost.images, 'image')}" if cost.images > 1 else ""
        hours = hours_text(2 * cost.runs * seen.seconds / _HOUR_S)
        yield f"{change}{count(cost.runs, seen.noun)}{images}, {hours} for both sides"


def _why(seen: AgainstItself) -> str:
    if seen.found.build is not None:
        return f"not by {MOST_IMAGES} images of each"
    if seen.is_built:
        return "with one image it may be luck with layout"
    return f"{seen.noun}s differ by {size(seen.found.run)}"


def _causes(seen: AgainstItself) -> Iterator[str]:
    if not seen.here:
        yield "what makes boots vary on the DUT is not visible from here: see what is MISSING above"
        return
    if not seen.causes:
        yield "this machine shows none of the usual causes of noise"
        return
    yield f"what makes {seen.noun}s vary here, and what to do about it:"
    for cause in seen.causes:
        yield f"  {cause.what}"
        yield f"    {cause.remedy}"


def main() -> None:
    """Read the values as JSON from stdin, and print what they say."""
    told = json.load(sys.stdin)
    values = {place: tuple(own) for place, own in enumerate(told["values"])}
    if (least := min(map(min, values.values()))) <= 0:
        sys.exit(f"a measurement gave {least:g}, of which no change is a share")
    seen = AgainstItself(
        title=told["title"],
        unit=told["unit"],
        values=values,
        seconds=fmean(told["seconds"]),
        is_built=True,
        alone="not known: name a further build of the same revision, linked in another order",
        noun=item_of(told["facts"]).iteration,
        found=sensitivity(values, is_built=True),
        causes=tuple(NoiseCause(**cause) for cause in told["causes"]),
        here=told["here"],
    )
    sys.stdout.write(itself_text(seen))


if __name__ == "__main__":
    main()
