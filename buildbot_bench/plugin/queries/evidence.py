"""What the tables and the mirror know of a search's range, in the core's words.

Here is also which images count for a search that carries a fix along, and which further images of
a revision can be had: the same code, linked in another order. It asks for none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from statistics import median

from buildbot_bench.core.model import ARCHIVE, Prior, learn, spread_of_images
from buildbot_bench.core.report import AppliedFix
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, RevisionRange
from buildbot_bench.core.sample import NoiseClass, Sample
from buildbot_bench.core.search import Costs, Evidence, Measurement, SearchPolicy
from buildbot_bench.core.touched import CommitPrior
from buildbot_bench.core.variant import Recipe
from buildbot_bench.history import Fit
from buildbot_bench.plugin.db.finding_rows import NewSearch
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import testbed_of
from buildbot_bench.plugin.queries.exact_prior import weights_by_exact_figures
from buildbot_bench.plugin.queries.prior import prior_of


def patched(search: NewSearch, sha: str) -> str:
    """What an image of a revision with the search's fix is called in the tables."""
    return Recipe(sha=sha, patches=(search.fix_patch or "",)).text


async def images_for(
    farm: Farm, search: NewSearch, span: RevisionRange, images: Iterable[ImageRow]
) -> dict[int, ImageRow]:
    """Those images of a range that the search would build, by their ids.

    A plain image counts where the fix is in, or does not fit.
    """
    first = span.old.position
    ours = [image for image in images if image.sha == span.revisions[image.position - first].sha]
    plain = {image.id: image for image in ours if image.variant == image.sha}
    if search.fix_sha is None:
        return plain
    with_fix = {image.id: image for image in ours if image.variant == patched(search, image.sha)}
    shas = tuple(dict.fromkeys(image.sha for image in plain.values()))
    fits = await farm.git(farm.fits, search.fix_sha, shas)
    without = {n: image for n, image in plain.items() if fits[image.sha] is not Fit.FITS}
    return without | with_fix


async def applied_fix(
    farm: Farm, search: NewSearch, images: Iterable[ImageRow]
) -> AppliedFix | None:
    """What became of a search's fix in the images that it built; None without one."""
    if search.fix_sha is None:
        return None
    built = list(images)
    fits = await farm.git(farm.fits, search.fix_sha, tuple(image.sha for image in built))
    misfits = [image for image in built if fits[image.sha] is Fit.NOT]
    return AppliedFix(
        fix=search.fix_sha[:ABBREVIATION_LENGTH],
        applied=len({image.sha for image in built if fits[image.sha] is Fit.FITS}),
        left_out=tuple(dict.fromkeys(image.label for image in misfits)),
    )


# So many orders that do not link or boot are passed over for the next.
_MOST_BROKEN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Relinks:
    """`broken` are the ordinals of images that cannot be had; `alike`: the job makes one order."""

    broken: frozenset[int]
    alike: bool

    @property
    def more(self) -> bool:
        """Whether it makes sense to ask for another image."""
        return not self.alike and len(self.broken) < _MOST_BROKEN

    def next(self, ordinal: int) -> int:
        """The image that is asked for in place of one that may be broken."""
        return next(k for k in count(ordinal) if k not in self.broken)


async def relinks_of(farm: Farm, variant: str, position: int) -> Relinks:
    """What is known of the images of a variant of the revision at a position."""
    images = await farm.store.all_images_between(position, position)
    return relinks_among([image for image in images if image.variant == variant])


def relinks_among(images: Sequence[ImageRow]) -> Relinks:
    """What these images of one variant tell."""
    unusable = (ImageState.UNTESTABLE, ImageState.FAILED)
    return Relinks(
        broken=frozenset(
            image.ordinal for image in images if image.ordinal and image.state in unusable
        ),
        alike=cannot_relink(images),
    )


def cannot_relink(images: Iterable[ImageRow]) -> bool:
    """Whether a further image of some variant came out as its first: so the job makes them all."""
    known = list(images)
    firsts = {image.variant: image for image in known if image.ordinal == 0}
    return any(is_alike(one, firsts[one.variant]) for one in known if one.variant in firsts)


def is_alike(image: ImageRow, first: ImageRow) -> bool:
    """Whether a further image is the first one again: its boots would tell nothing of layout."""
    return image.ordinal > 0 and image.kernel is not None and image.kernel == first.kernel


# What a kernel build takes on the archive's builders (lab-protocol: median of 49 world builds),
# until this farm has builds of its own.
ASSUMED_BUILD_S = 15 * 60.0
# How many commits back a history reaches: about a hundred days of FreeBSD's head.
WINDOW_COMMITS = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchInputs:
    """All that the core needs; positions of `evidence` and `samples` are indices into `range`.

    `prior` is None when it is not known what any kernel of the range is built from.
    """

    range: RevisionRange
    evidence: Evidence
    costs: Costs
    policy: SearchPolicy
    images: dict[int, ImageRow]
    samples: tuple[Sample, ...]
    prior: CommitPrior | None = None


async def gather(farm: Farm, search: NewSearch) -> SearchInputs:
    """Read everything that is known of a search's range."""
    span = await farm.git(span_of, farm, search)
    return await gather_span(farm, search, span)


def span_of(farm: Farm, search: NewSearch) -> RevisionRange:
    """The revisions of a search, in a thread that may ask the mirror."""
    return farm.span(search.old_sha, search.new_sha)


async def gather_span(farm: Farm, search: NewSearch, span: RevisionRange) -> SearchInputs:
    """Read what is known of a range; images of a rewritten history do not count."""
    first = span.old.position
    built = await farm.store.all_images_between(first, span.new.position)
    images = await images_for(farm, search, span, built)
    samples = await farm.store.samples_of_images(
        image_ids=list(images),
        testbed=search.testbed,
        workload=search.workload,
        unit=search.unit or None,
    )
    comparable = comparable_samples(samples)
    evidence = _evidence(images, comparable, first)
    no_ops = evidence.same_as_previous | evidence.same_across
    prior = await prior_of(farm, search, span, images.values(), no_ops)
    touched = prior.weights if prior else None
    weights = await weights_by_exact_figures(farm, search, span, touched)
    policy = await _policy(farm, search, images=not cannot_relink(images.values()))
    return SearchInputs(
        range=span,
        evidence=evidence,
        costs=costs(farm, search.testbed, images),
        policy=replace(policy, weights=weights),
        images=images,
        samples=tuple(replace(sample, position=sample.position - first) for sample in comparable),
        prior=prior,
    )


def comparable_samples(samples: list[Sample]) -> list[Sample]:
    """Those of the metric and epoch in which the lab measured last."""
    if not samples:
        return []
    newest = max(samples, key=lambda sample: max(i.at_s for i in sample.iterations))
    return [
        sample
        for sample in samples
        if (sample.metric, sample.epoch) == (newest.metric, newest.epoch)
    ]


def _evidence(images: dict[int, ImageRow], samples: list[Sample], first: int) -> Evidence:
    plain = {image.position - first: image for image in images.values() if image.ordinal == 0}
    kernels = {p: image.kernel for p, image in plain.items() if image.kernel}
    untestable = frozenset(p for p, image in plain.items() if image.state == ImageState.UNTESTABLE)
    return Evidence(
        measurements=tuple(
            Measurement(
                position=sample.position - first,
                value=iteration.value,
                image=sample.image,
                at_s=iteration.at_s,
            )
            for sample in samples
            for iteration in sample.iterations
            if iteration.value is not None
        ),
        untestable=untestable,
        built=frozenset(p for p, image in plain.items() if image.state == ImageState.BUILT),
        same_as_previous=frozenset(p for p, k in kernels.items() if kernels.get(p - 1) == k),
        same_across=_same_across(kernels, untestable),
    )


def _same_across(kernels: Mapping[int, str], untestable: Collection[int]) -> frozenset[int]:
    """The testable positions with the kernel of the last testable one, untestable ones between."""
    found = set()
    for position, kernel in kernels.items():
        before = position - 1
        while before in untestable:
            before -= 1
        apart = before < position - 1 and position not in untestable
        if apart and kernels.get(before) == kernel:
            found.add(position)
    return frozenset(found)


def costs(farm: Farm, testbed: str, images: dict[int, ImageRow]) -> Costs:
    """What this farm's builds took, and what its workflow says of the testbed."""
    builds = [image.build_s for image in images.values() if image.build_s is not None]
    declared = testbed_of(farm, testbed)
    return Costs(
        build_s=median(builds) if builds else ASSUMED_BUILD_S,
        boot_s=declared.boot_s,
        run_s=declared.run_s,
        builders=len(farm.workflow.build_job.runs_on),
    )


def _assumed(min_effect: float) -> Prior:
    """What to expect of a testbed that was never seen: not more noise than what is asked of it.

    It tells how long a search may take; the first iterations then tell what the noise is.
    """
    return replace(
        ARCHIVE,
        sigma_run=min(ARCHIVE.sigma_run, min_effect),
        sigma_build=min(ARCHIVE.sigma_build, min_effect),
    )


async def _policy(farm: Farm, search: NewSearch, *, images: bool) -> SearchPolicy:
    samples = await farm.store.samples(
        testbed=search.testbed,
        workload=search.workload,
        # As the judge learns: what is older tells of another lab, and is read for each boot.
        first_position=max(0, search.old_position - WINDOW_COMMITS),
        last_position=search.new_position,
        unit=search.unit or None,
        history_of=search.branch,
    )
    comparable = comparable_samples(samples)
    noise = learn(comparable, prior=ARCHIVE if comparable else _assumed(search.min_effect))
    within = [sample for sample in comparable if sample.position >= search.old_position]
    # Layout moves no instruction: another image tells nothing of a metric that is counted.
    counted = any(sample.metric.noise is NoiseClass.EXACT for sample in comparable)
    return SearchPolicy(
        error=search.error,
        min_effect=search.min_effect,
        claimed=search.claimed,
        higher_is_better=all(sample.metric.higher_is_better for sample in comparable),
        sigma_run=noise.sigma_run,
        sigma_build=spread_of_images(within, noise),
        far_share=noise.far_share,
        max_measurements=farm.workflow.regression.max_measurements,
        images=images and not counted,
        layout=not counted,
    )
