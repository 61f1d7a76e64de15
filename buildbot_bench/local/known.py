"""A search's evidence, read from the file of a local campaign."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median

from buildbot_bench.core.evidence import (
    comparable_samples,
    evidence_of,
    may_relink,
    policy_of,
)
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import Iteration, Metric, Sample
from buildbot_bench.core.search import PREBUILT, Costs, Evidence, SearchPolicy
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.local.campaign import LocalSearch
from buildbot_bench.local.store import StoredBuild, StoredRun

# Until there is one of this campaign; a forecast is made when there is.
ASSUMED_BUILD_S, ASSUMED_RUN_S = 10.0, 5.0
SKIPPED = "skipped, as it was asked for"
_CONFLICTS = "it does not merge without a conflict"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalImage:
    """A build of a revision of the range, or a revision that is not to be built.

    `position` is that of the revision in the history; `refused` is why its runs failed.
    """

    position: int
    ordinal: int
    variant: str
    row: StoredBuild | None
    is_built: bool = False
    refused: str = ""

    @property
    def kernel(self) -> str | None:
        """The digest of what was built."""
        return self.row.kernel if self.row else None

    @property
    def build_s(self) -> float | None:
        """What the build took."""
        return self.row.build_s if self.row else None

    @property
    def reason(self) -> str:
        """Why it cannot be measured, with the last lines of the output; empty when it can."""
        return self.refused or (self.row and self.row.reason) or ""

    @property
    def is_untestable(self) -> bool:
        """Whether its revision does not build or run, or is skipped."""
        return bool(self.reason)

    is_unusable = is_untestable


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """All that the core needs; positions of `evidence` are indices into the range.

    Those of `samples` too. `images` are by position in the range and ordinal; `iterations` are
    those of the range, in the order in which they ended.
    """

    between: RevisionRange
    evidence: Evidence
    costs: Costs
    policy: SearchPolicy
    images: Mapping[tuple[int, int], LocalImage]
    samples: tuple[Sample, ...]
    iterations: tuple[StoredRun, ...]

    def at(self, position: int) -> list[LocalImage]:
        """The images of a position of the range."""
        return [image for (where, _), image in self.images.items() if where == position]


def known_of(
    search: LocalSearch,
    rows: Sequence[StoredBuild],
    iterations: Sequence[StoredRun],
    *,
    is_there: Callable[[StoredBuild], bool],
    assumed_build_s: float = ASSUMED_BUILD_S,
) -> Known:
    """What builds and runs of the campaign tell of the search's range.

    A build is thought to take as long as those of the range, of the campaign, else as is assumed.
    """
    between = search.between
    places = {one.sha: place for place, one in enumerate(between.revisions)}
    ours = {row.id: row for row in rows if row.sha in places}
    runs = [one for one in iterations if one.image_id in ours]
    images = _images(search, places, list(ours.values()), runs, is_there)
    own = [image for image in images.values() if image.ordinal != PREBUILT]
    first = between.old.position
    samples = _samples(search.campaign.workload.metric, between, places, ours, runs)
    comparable = comparable_samples(samples)
    evidence = evidence_of(own, comparable, first)
    there = {place for sha, place in places.items() if sha in search.prebuilt} - search.skipped
    failed = {place for (place, ordinal), one in images.items() if ordinal < 0 and one.reason}
    evidence = replace(evidence, prebuilt=frozenset(there - failed))
    rows = [row for row in rows if row.ordinal != PREBUILT]
    of_own = [one for one in comparable if one.image != PREBUILT]
    return Known(
        between=between,
        evidence=evidence,
        costs=Costs(
            build_s=_usual_build_s(row for row in rows if row.id in ours)
            or _usual_build_s(rows)
            or assumed_build_s,
            boot_s=0.0,
            run_s=_usual_run_s(runs) or _usual_run_s(iterations) or ASSUMED_RUN_S,
            builders=max(search.ahead, 1),
        ),
        policy=_policy(search, of_own or comparable, first, _more_images(search, own)),
        images=images,
        samples=tuple(replace(one, position=one.position - first) for one in of_own),
        iterations=tuple(runs),
    )


def _images(
    search: LocalSearch,
    places: Mapping[str, int],
    rows: Sequence[StoredBuild],
    runs: Sequence[StoredRun],
    is_there: Callable[[StoredBuild], bool],
) -> dict[tuple[int, int], LocalImage]:
    valued = {one.image_id for one in runs if one.value is not None}
    refused = {
        one.image_id: f"{one.failure}\n{one.log}"
        for one in runs
        if one.kind is FailureKind.UNTESTABLE and one.image_id not in valued
    }
    first = search.between.old.position
    found = {
        (places[row.sha], row.ordinal): LocalImage(
            position=first + places[row.sha],
            ordinal=row.ordinal,
            variant=row.sha,
            row=row,
            is_built=row.reason is None and is_there(row),
            refused=refused.get(row.id, ""),
        )
        for row in rows
    }
    left_out = dict.fromkeys(search.conflicts, _CONFLICTS) | dict.fromkeys(search.skipped, SKIPPED)
    for place, why in left_out.items():
        sha = search.between.revisions[place].sha
        found[place, 0] = LocalImage(
            position=first + place, ordinal=0, variant=sha, row=None, refused=why
        )
    return found


def _samples(
    metric: Metric,
    between: RevisionRange,
    places: Mapping[str, int],
    rows: Mapping[int, StoredBuild],
    runs: Sequence[StoredRun],
) -> list[Sample]:
    """The runs of each image and epoch; positions are those of the history."""
    found: dict[tuple[int, str], list[Iteration]] = {}
    steps: dict[tuple[int, str], float] = {}
    at_s = -inf
    for one in runs:
        at_s = max(one.at_s, at_s + one.duration_s)  # a clock that is set back turns no order round
        run = Iteration(value=one.value, at_s=at_s, failure=one.failure)
        found.setdefault((one.image_id, one.epoch), []).append(run)
        if one.times:
            steps[one.image_id, one.epoch] = one.times.step
    samples = []
    for (image_id, epoch), own in found.items():
        row = rows[image_id]
        revision = between.revisions[places[row.sha]]
        samples.append(
            Sample(
                label=revision.label,
                position=revision.position,
                image=row.ordinal,
                epoch=epoch,
                metric=metric,
                resolution=steps.get((image_id, epoch), 0.0),
                iterations=tuple(own),
            )
        )
    return samples


def _usual_build_s(rows: Iterable[StoredBuild]) -> float | None:
    took = [row.build_s for row in rows]
    return median(took) if took else None


def _usual_run_s(runs: Sequence[StoredRun]) -> float | None:
    took = [one.duration_s for one in runs if one.value is not None]
    return median(took) if took else None


def _policy(
    search: LocalSearch, samples: Sequence[Sample], first: int, more_images: bool
) -> SearchPolicy:
    """How the search is to be made; the workload says what is better before anything is run."""
    policy = policy_of(search.terms, samples, first=first, images=more_images, randomised=True)
    return replace(policy, higher_is_better=search.campaign.workload.metric.higher_is_better)


def _more_images(search: LocalSearch, images: Sequence[LocalImage]) -> bool:
    """Whether another image of a revision can be made: the build heeds BENCH_IMAGE, and works."""
    return bool(search.campaign.recipe.steps) and may_relink(images)
