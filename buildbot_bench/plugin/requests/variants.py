"""Patches within the limits of who sends them, and what a written variant means."""

from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.api.answers import AbTestState, ComparisonBegun, ExpectedCost, Nouns
from buildbot_bench.core.compare.model import title_of
from buildbot_bench.core.compare.schedule import BootLimits, expected_boots
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.figures import count
from buildbot_bench.core.json_model import Json, to_json
from buildbot_bench.core.limits import MIB, spoken
from buildbot_bench.core.patch import check_patch
from buildbot_bench.core.revision import branch_in
from buildbot_bench.core.variant import (
    Change,
    PatchFile,
    Picked,
    Review,
    VariantSpec,
    is_built,
    parse_variant,
    recipe,
    tunables_text,
    write_variant,
)
from buildbot_bench.plugin.broker.ask import BuildTarget
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.rows import PatchRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import testbed_of
from buildbot_bench.plugin.queries.compared_boots import known_images
from buildbot_bench.plugin.queries.comparisons import ComparisonViews, variants_of
from buildbot_bench.plugin.queries.evidence import item_of_comparison, item_of_farm
from buildbot_bench.plugin.queries.turns import boots_of_a_day
from buildbot_bench.plugin.requests.review_site import fetch_review


async def announced(farm: Farm, ab_test: AbTestRow, *, known: int) -> Json:
    """What a comparison takes of which there are `known` boots of each series."""
    variants = variants_of(ab_test)
    boots = len(variants) * ab_test.iterations
    missing = dict.fromkeys(ab_test.series_names, boots - known)
    begun = ComparisonBegun(
        comparisonid=ab_test.id,
        state=ab_test.state,
        title=title_of([variant.label for variant in variants]),
        variants=variants,
        series=tuple(ab_test.series_names),
        boots=boots * len(ab_test.series),
        hours=_hours(farm, missing),
        images=ab_test.images,
        nouns=Nouns(**(await item_of_comparison(farm, ab_test)).nouns),
        expected=await _expected(farm, ab_test) if ab_test.images > 1 else None,
    )
    return to_json(begun)


async def _expected(farm: Farm, ab_test: AbTestRow) -> ExpectedCost:
    views, known = ComparisonViews(farm), await known_images(farm, ab_test)
    limits = BootLimits(boots=ab_test.iterations, images=ab_test.images)
    of_each = {
        series: await calculate(
            expected_boots, await views.noise(series, known), limits, ab_test.min_effect
        )
        for series in ab_test.series_names
    }
    variants = len(ab_test.variants)
    boots = {series: variants * one.boots for series, one in of_each.items()}
    return ExpectedCost(
        effect=ab_test.min_effect,
        images=max(one.images for one in of_each.values()),
        boots=sum(boots.values()),
        hours=_hours(farm, boots),
    )


def _hours(farm: Farm, boots: Mapping[SeriesName, int]) -> float:
    """How long the busiest testbed boots and blasts; builds come before."""
    spent: dict[str, float] = {}
    for (name, _), number in boots.items():
        testbed = testbed_of(farm, name)
        spent[name] = spent.get(name, 0.0) + number * (testbed.boot_s + testbed.run_s)
    return max(spent.values()) / 3600


_OPEN = (AbTestState.AWAITING, AbTestState.RUNNING)


async def keep_patch(
    farm: Farm, *, body: bytes, origin: str, requester: str, trusted: bool
) -> PatchRow:
    """Keep a patch for a person."""
    limits = farm.workflow.untrusted
    most = None if trusted else int(limits.patch_mib * MIB)
    kept: PatchRow | None = await farm.store.add_patch(
        body=body, origin=origin, requester=requester, now=farm.now(), most_bytes=most
    )
    if kept is None:
        used = spoken(await farm.store.patch_bytes(requester))
        raise UsageError(
            f"{origin} has {spoken(len(body))}: the farm keeps {used} of your patches already, and"
            f" {spoken(most or 0)} are the most",
            hint="have somebody decide about your comparisons: what nobody approves is deleted"
            f" after {limits.keep_days} days",
        )
    return kept


async def refuse_one_too_many(farm: Farm, requester: str, *, trusted: bool) -> None:
    """Let a person who is not trusted have so many comparisons at a time and no more."""
    most = farm.workflow.untrusted.comparisons
    if trusted:
        return
    theirs = [one for one in await farm.store.ab_tests(_OPEN) if one.payer == requester]
    if len(theirs) >= most:
        raise UsageError(
            f"{len(theirs)} of your comparisons run or await approval, and {most} are the most",
            hint=f"wait for comparison {theirs[-1].id}, or cancel it",
        )


async def refuse_too_many_boots(farm: Farm, requester: str, boots: int, *, trusted: bool) -> None:
    """Let a person who is not trusted ask for what the boots of a day are enough for.

    `boots` is what the comparison asks for at first. What it takes besides, and what others of
    theirs take meanwhile, waits for another day.
    """
    most = farm.workflow.untrusted.boots_a_day
    if trusted:
        return
    had = (await boots_of_a_day(farm, [requester])).get(requester, 0)
    if had + boots <= most:
        return
    iteration = (await item_of_farm(farm)).iteration
    raise UsageError(
        f"it takes {count(boots, iteration)}: your comparisons had {had} within 24 hours, and"
        f" {most} are the most",
        hint="compare fewer variants or series, or have somebody with the role approve ask"
        if boots > most
        else f"ask again tomorrow, or for fewer {iteration}s",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """What is built, what is set when it runs, and what people call the two together."""

    built: BuildTarget
    tunables: str
    label: str


async def find_variant(
    farm: Farm, text: str, *, patches: Mapping[str, bytes], requester: str, trusted: bool
) -> Variant:
    """The variant that a person wrote; `patches` holds the files that came with the question.

    Raises UsageError for what cannot be understood or had, and for more patches than somebody who
    is not trusted may have, InfraError when the reviews' site or
    the mirror does not answer.
    """
    base, *rest = text.split("+", 1)
    repository, named = await farm.git(farm.history.place, base)
    spec = parse_variant("+".join((named, *rest)))
    await farm.mirroring.ready(repository)
    revision = await farm.git(farm.history.resolve, base)
    label = branch_in(repository, revision.label)
    digests: dict[Change, str] = {}
    for change in spec.changes:
        match change:
            case Review() | PatchFile() | Picked():
                body, origin = await _patch(farm, change, patches, repository)
                kept = await keep_patch(
                    farm, body=body, origin=origin, requester=requester, trusted=trusted
                )
                digests[change] = kept.digest
    built = VariantSpec(base=spec.base, changes=tuple(filter(is_built, spec.changes)))
    return Variant(
        built=BuildTarget(
            sha=revision.sha,
            position=revision.position,
            label=write_variant(built, base=label),
            variant=recipe(revision.sha, spec.changes, digests).text,
            repository=repository,
        ),
        tunables=tunables_text(spec.changes),
        label=write_variant(spec, base=label),
    )


async def _patch(
    farm: Farm, change: Review | PatchFile | Picked, sent: Mapping[str, bytes], repository: str
) -> tuple[bytes, str]:
    """The bytes of a patch and where they are from."""
    match change:
        case PatchFile(name=name):
            if name not in sent:
                raise UsageError(f"the request does not contain the file {name}")
            check_patch(sent[name], name)
            return sent[name], name
        case Picked(revision=revision):
            fix = await farm.git(farm.history.resolve, revision, repository)
            name = f"commit:{fix.short_sha}"
            body = await farm.git(farm.history.patch, fix)
            check_patch(body, name)
            return body, name
        case Review(number=number):
            site = farm.workflow.reviews
            if site is None:
                raise UsageError(
                    f"this farm does not know where D{number} is reviewed",
                    hint="let its bench.yml say reviews: https://reviews.freebsd.org, "
                    "or give the patch as +file:NAME",
                )
            return await fetch_review(site, number), f"D{number}"
