"""The evidence and samples of a search's range, read from the tables and the mirror."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from buildbot_bench.core.evidence import (
    MAX_FRUITLESS,
    Relinks,
    comparable_samples,
    evidence_of,
    may_relink,
    policy_of,
    relinks_among,
    usual_build_s,
)
from buildbot_bench.core.item import ItemUnderTest, is_randomised, item_of, shared_item
from buildbot_bench.core.report.model import AppliedFix
from buildbot_bench.core.revision import RevisionRange, repository_of
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.search import PREBUILT, Answer, Costs, Evidence, SearchPolicy
from buildbot_bench.core.touched import CommitPrior
from buildbot_bench.core.variant import Recipe
from buildbot_bench.history import Fit
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import SearchKind
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import testbed_of
from buildbot_bench.plugin.queries.ranges import (
    MergeSpan,
    prior_of,
    sizes_of_merges,
    spans_inside,
    weights_by_exact_figures,
)


async def item_on(farm: Farm, testbed: str) -> ItemUnderTest:
    """What a testbed measures; while nothing ended on it, what the farm's others do."""
    facts = await farm.store.facts_on(testbed)
    return item_of(facts) if facts else await item_of_farm(farm)


async def item_of_farm(farm: Farm) -> ItemUnderTest:
    """What is built for the testbeds of bench.yml, by those that measured."""
    told = [await farm.store.facts_on(testbed) for testbed in sorted(farm.workflow.testbeds)]
    return shared_item(item_of(facts) for facts in told if facts)


async def item_of_search(farm: Farm, search: SearchRow) -> ItemUnderTest:
    """What a search tries: what its testbed measures, or, of builds, what all testbeds do."""
    if search.kind is SearchKind.BUILD:
        return await item_of_farm(farm)
    return await item_on(farm, search.testbed)


async def item_of_comparison(farm: Farm, ab_test: AbTestRow) -> ItemUnderTest:
    """What the testbeds of a comparison measure: kernels unless all of them run commands."""
    testbeds = {testbed for testbed, _ in ab_test.series_names}
    return shared_item([await item_on(farm, testbed) for testbed in sorted(testbeds)])


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
    return AppliedFix.of_builds(
        search.fix_sha,
        applied=(image.sha for image in built if fits[image.sha] is Fit.FITS),
        left_out=(image.label for image in built if fits[image.sha] is Fit.NOT),
    )


async def relinks_of(farm: Farm, variant: str, position: int, repository: str) -> Relinks:
    """What is known of the images of a variant of a repository's revision at a position."""
    images = await farm.store.all_images_between(position, position, repository)
    return relinks_among([image for image in images if image.variant == variant])


# What a kernel build takes on the archive's builders (lab-protocol: median of 49 world builds),
# until this farm has builds of its own.
ASSUMED_BUILD_S = 15 * 60.0
# How many commits back a history reaches: about a hundred days of FreeBSD's head.
WINDOW_COMMITS = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchInputs:
    """All that the core needs; positions of `evidence` and `samples` are indices into `range`.

    `prior` is None when it is not known what any kernel of the range is built from. `images` are
    the farm's own builds, with `samples` of them; `prebuilt` are those that somebody else built.
    `recipes` are what is built of each revision inside a merge.
    """

    range: RevisionRange
    evidence: Evidence
    costs: Costs
    policy: SearchPolicy
    images: dict[int, ImageRow]
    samples: tuple[Sample, ...]
    prior: CommitPrior | None = None
    prebuilt: dict[int, ImageRow] = field(default_factory=dict)
    recipes: tuple[Recipe, ...] = ()


async def gather(farm: Farm, search: NewSearch) -> SearchInputs:
    """Read everything that is known of a search's range."""
    span = await farm.git(span_of, farm, search)
    return await gather_span(farm, search, span)


def span_of(farm: Farm, search: NewSearch) -> RevisionRange:
    """The revisions of a search, in a thread that may ask the mirror."""
    return farm.span(search.old_sha, search.new_sha)


def _goes_inside(search: NewSearch) -> bool:
    return search.fix_sha is None and not search.first_parent


def merges_of(farm: Farm, search: NewSearch) -> tuple[int, ...]:
    """How many commits each merge of a range brought; none where the search goes inside none."""
    if not _goes_inside(search):
        return ()
    mirror = farm.history.mirror(search.old_sha, search.new_sha)
    return sizes_of_merges(mirror, span_of(farm, search))


def spans_of(farm: Farm, search: SearchRow, answers: Sequence[Answer]) -> list[MergeSpan]:
    """The ranges inside merges to which answers lead; a search that carries a fix goes into none.

    In a thread that may ask the mirror.
    """
    if not (_goes_inside(search) and answers):
        return []
    mirror = farm.history.mirror(search.old_sha, search.new_sha)
    return spans_inside(mirror, span_of(farm, search), answers, search.chosen)


async def gather_innermost(farm: Farm, search: SearchRow) -> SearchInputs:
    """Read what is known of the range in which a search is now, which may be inside a merge."""
    open_answers = search.answers if search.ended_at is None else ()
    spans = await farm.git(spans_of, farm, search, open_answers)
    return await (gather_inside(farm, search, spans[-1]) if spans else gather(farm, search))


async def gather_inside(farm: Farm, search: SearchRow, span: MergeSpan) -> SearchInputs:
    """Read what is known of the range inside a merge.

    An image stands there where the commit does that it is of: the tables have it where it lies in
    the history of its branch.
    """
    recipes = tuple(one.recipe for one in span.commits)
    places = {recipe.text: place for place, recipe in enumerate(recipes)}
    rows = await farm.store.images_of_variants(tuple(places), search.repository)
    placed = (replace(row, position=places[row.variant]) for row in rows)
    images = {row.id: row for row in sorted(placed, key=lambda row: (row.position, row.ordinal))}
    labelled = {row.label: row.position for row in images.values()}
    samples = [
        replace(sample, position=labelled[sample.label])
        for sample in await _samples(farm, search, images)
    ]
    samples.sort(key=lambda sample: (sample.position, sample.image))
    inputs = await _inputs(farm, search, span.shown, images, samples)
    known = inputs.evidence
    evidence = replace(known, untestable=known.untestable | span.conflicts)
    inputs = replace(inputs, evidence=evidence, recipes=recipes)
    if not any(one.under for recipe in recipes for one in recipe.merged):
        return inputs
    # What a vendor's commit touches is called otherwise than what a kernel is built from.
    return replace(inputs, prior=None, policy=replace(inputs.policy, weights=None))


async def gather_span(farm: Farm, search: NewSearch, span: RevisionRange) -> SearchInputs:
    """Read what is known of a range; images of a rewritten history do not count."""
    first = span.old.position
    repository = repository_of(search.branch)
    built = await farm.store.all_images_between(first, span.new.position, repository)
    images = await images_for(farm, search, span, built)
    prebuilt = _prebuilt(search, span, built)
    samples = await _samples(farm, search, images)
    others = [replace(one, image=PREBUILT) for one in await _samples(farm, search, prebuilt)]
    inputs = await _inputs(farm, search, span, images, [*samples, *others])
    evidence, policy = inputs.evidence, inputs.policy
    if search.fix_sha is None:
        evidence = replace(evidence, prebuilt=_there(farm, search, span, prebuilt))
    weights = await weights_by_exact_figures(farm, search, span, policy.weights)
    policy = replace(policy, weights=weights)
    return replace(inputs, evidence=evidence, policy=policy, prebuilt=prebuilt)


async def _inputs(
    farm: Farm,
    search: NewSearch,
    span: RevisionRange,
    images: dict[int, ImageRow],
    samples: list[Sample],
) -> SearchInputs:
    """All that follows from the images of a range and what was measured of them."""
    first = span.old.position
    comparable = comparable_samples(samples)
    evidence = evidence_of(images.values(), comparable, first)
    if search.value:
        evidence = _without_silent(evidence, comparable, first)
    comparable = [sample for sample in comparable if sample.image != PREBUILT]
    no_ops = evidence.same_as_previous | evidence.same_across
    prior = await prior_of(farm, search, span, images.values(), no_ops)
    policy = await _policy(farm, search, images=may_relink(images.values()))
    return SearchInputs(
        range=span,
        evidence=evidence,
        costs=costs(farm, search.testbed, images, repository_of(search.branch)),
        policy=replace(policy, weights=prior.weights if prior else None),
        images=images,
        samples=tuple(replace(sample, position=sample.position - first) for sample in comparable),
        prior=prior,
    )


def _without_silent(evidence: Evidence, samples: Iterable[Sample], first: int) -> Evidence:
    """Call those revisions untestable whose boots, several, do not give the value searched."""
    silent = {
        sample.position - first
        for sample in samples
        if len(sample.iterations) >= MAX_FRUITLESS and not sample.values
    }
    return replace(evidence, untestable=evidence.untestable | silent, built=evidence.built - silent)


async def _samples(
    farm: Farm, search: NewSearch, images: Mapping[int, ImageRow]
) -> Sequence[Sample]:
    found: Sequence[Sample] = await farm.store.samples_of_images(
        search.series, list(images), unit=search.measured_in, tunables=search.tunables
    )
    return found


def _prebuilt(
    search: NewSearch, span: RevisionRange, images: Iterable[ImageRow]
) -> dict[int, ImageRow]:
    """Those images of a range that somebody else built; none for a search with a fix."""
    first = span.old.position
    return {
        image.id: image
        for image in images
        if image.is_prebuilt
        and search.fix_sha is None
        and image.sha == span.revisions[image.position - first].sha
    }


def _there(
    farm: Farm, search: NewSearch, span: RevisionRange, prebuilt: Mapping[int, ImageRow]
) -> frozenset[int]:
    """Where the source has an image that can be booted, in the range's terms."""
    known = farm.prebuilt.known(search.branch)
    unusable = {image.sha for image in prebuilt.values() if image.is_unusable}
    return frozenset(
        place
        for place, revision in enumerate(span.revisions)
        if revision.sha in known and revision.sha not in unusable
    )


def costs(farm: Farm, testbed: str, images: dict[int, ImageRow], repository: str = "") -> Costs:
    """What this farm's builds took, and what its workflow says of the testbed."""
    declared = testbed_of(farm, testbed)
    return Costs(
        build_s=usual_build_s(images.values(), ASSUMED_BUILD_S),
        boot_s=declared.boot_s,
        run_s=declared.run_s,
        builders=len(farm.workflow.build_job_of(repository).runs_on),
    )


async def _policy(farm: Farm, search: NewSearch, *, images: bool) -> SearchPolicy:
    # As the judge learns: what is older tells of another lab, and is read for each boot.
    span = (max(0, search.old_position - WINDOW_COMMITS), search.new_position)
    samples = await farm.store.samples(
        search.series, span, unit=search.measured_in, history_of=search.branch
    )
    return await calculate(
        policy_of,
        SearchPolicy(
            error=search.error,
            min_effect=search.min_effect,
            claimed=search.claimed,
            max_measurements=farm.workflow.regression.max_measurements,
        ),
        comparable_samples(samples),
        first=search.old_position,
        images=images,
        randomised=is_randomised(await farm.store.facts_on(*search.series)),
    )
