"""Rows of comparisons, with their variants and further images."""

from collections.abc import Sequence
from dataclasses import dataclass

from buildbot_bench.api.answers import AbTestState
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.plugin.db.columns import AbTestId, Count, ImageId


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestVariant:
    """One of a comparison's variants: the image, and what is set when it runs.

    `variant` is as it was written, its base's name in the usual form; `label` what it is called.
    """

    image_id: ImageId
    tunables: str
    variant: str
    label: str

    @property
    def kernel(self) -> tuple[int, str]:
        """What two variants of a comparison never have in common."""
        return self.image_id, self.tunables


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestImage:
    """A further image of a variant that one series of a comparison boots, so many `boots` of it.

    `place` is the variant's, the base's is 0; `number` tells in which order the image is linked.
    """

    place: int
    testbed: str
    workload: str
    number: int
    image_id: ImageId
    boots: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestVariantRow(AbTestVariant):
    """A variant, as stored: `ordinal` is its place, 0 that of the base."""

    id: int
    ab_test_id: AbTestId
    ordinal: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestImageRow(AbTestImage):
    """A further image, as stored."""

    id: int
    ab_test_id: AbTestId


@dataclass(frozen=True, kw_only=True, slots=True)
class NewAbTest:
    """Variants to be compared, the base first, so many `iterations` of each one's first image.

    `series` are pairs of testbed and workload. There are at most `images` of each variant, and no
    further one is booted more often than the first. `limited`: who pays for it may have no more
    than `untrusted` in bench.yml allows. `key` is that of one that bench.yml asks for: there is no
    second one.
    """

    variants: Sequence[AbTestVariant]
    series: Sequence[Sequence[str]]
    iterations: int
    confidence: float
    min_effect: float
    requester: str
    state: AbTestState = AbTestState.RUNNING
    images: int = 1
    priority: PersonPriority = PersonPriority.NORMAL
    limited: bool = False
    key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestRow(NewAbTest):
    """A comparison of variants, as stored, with the `further` images that it asked for.

    `decided_by` is who approved or rejected the patches; None when nobody had to. `resumed_at` is
    when it was extended last, by `extended_by`: what failed before is forgiven.
    """

    id: int
    detail: str | None
    created_at: float
    ended_at: float | None
    version: Count
    decided_by: str | None = None
    resumed_at: float | None = None
    extended_by: str | None = None
    further: tuple[AbTestImage, ...] = ()

    @property
    def payer(self) -> str:
        """On whose account its boots are: who extended it last, else who asked for it."""
        return self.requester if self.extended_by is None else self.extended_by

    @property
    def image_ids(self) -> set[int]:
        """All images that it boots, the first ones and further ones."""
        first = {variant.image_id for variant in self.variants}
        return first | {one.image_id for one in self.further}

    @property
    def series_names(self) -> list[tuple[str, str]]:
        """The series as pairs of testbed and workload."""
        return [(testbed, workload) for testbed, workload in self.series]

    def further_of(self, testbed: str, workload: str) -> tuple[AbTestImage, ...]:
        """The further images that one series boots."""
        series = (testbed, workload)
        return tuple(one for one in self.further if (one.testbed, one.workload) == series)

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.ended_at is not None
