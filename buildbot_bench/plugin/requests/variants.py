"""The commit, image and tunables that a written variant means, with its patches stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.core.branches import branch_in
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.patch import check_patch
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
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.requests.quota import keep_patch
from buildbot_bench.plugin.requests.review_site import fetch_review


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
