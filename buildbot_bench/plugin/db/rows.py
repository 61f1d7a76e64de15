"""Rows of commits, images, requests to the lab, iterations and captures.

Field names are column names. Times are seconds since the epoch, given by the caller. `version`
counts a row's changes: a change names the row that was read and is refused when the stored row is
no longer that one (compare-and-swap).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.variant import PREBUILT
from buildbot_bench.plugin.db.columns import (
    AbTestId,
    Count,
    Digest,
    Flag,
    ImageId,
    ImageState,
    IterationId,
    JudgementId,
    Large,
    ProbeId,
    ProbeReason,
    ProfileState,
    SearchId,
    Sha,
    ValueNamesId,
)

SeriesName = tuple[str, str]
"""A testbed and a workload on it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewCommit:
    """A commit that arrived on a branch; `important` when it touches a watched path."""

    sha: Sha
    position: int
    parent_sha: Sha | None = None
    svn: int | None = None
    subject: str = ""
    author: str = ""
    committed_at_s: Large = 0
    important: bool = True
    arrived_at: float = 0.0

    @classmethod
    def of(cls, revision: Revision, *, important: bool, arrived_at: float) -> Self:
        """The commit that git knows as this revision."""
        return cls(**shared(cls, revision), important=important, arrived_at=arrived_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedRow:
    """What became of a request to measure a commit for its own sake."""

    position: int
    state: ProbeState
    failure_kind: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitRow(NewCommit):
    """A commit of a branch, as stored.

    `no_op_of` names the revision whose build read nothing that the commit touches: it is presumed
    to be a no-op change. None when it is not.
    """

    id: int
    branch: str
    no_op_of: str | None = None

    @property
    def revision(self) -> Revision:
        """The commit in the core's words."""
        return Revision(**shared(Revision, self))


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRow:
    """One build of one variant, wanted or made.

    `variant` is canonical: the sha itself for a plain revision. `ordinal` counts the builds of
    a variant from 0. `brid` is Buildbot's build request; `path` is where the artefact lies.
    `digest` is that of the artefact, `kernel_digest` that of the kernel without what its build
    tells of itself; `manifest` is what the builder says of it, in core.manifest's fields.
    `read_files` is the digest of the list of the files that the build read, None when it is not
    known; `built_by` tells the jobs apart that built. `branch` is the one that has the revision,
    of several the one watched first: empty when none is watched, None when that is not known.
    `repository` is what its repository's branches have in front, empty of the first one.
    `text_bytes`, `data_bytes` and `bss_bytes` are the kernel's as size(1) counts them, None of what
    is no ELF file; `modules` has the three of each module by its file's name.
    """

    id: int
    sha: Sha
    variant: str
    ordinal: int
    position: int
    label: str
    state: ImageState
    attempt: Count
    brid: int | None
    reason: str | None
    digest: str | None
    size: Large | None
    path: str | None
    build_s: float | None
    created_at: float
    changed_at: float
    version: Count
    kernel_digest: str | None = None
    read_files: Digest | None = None
    built_by: Digest | None = None
    branch: str | None = None
    repository: str = ""
    text_bytes: Large | None = None
    data_bytes: Large | None = None
    bss_bytes: Large | None = None
    # The long columns stand last, as those of iterations do.
    manifest: dict[str, Any] | None = None
    modules: dict[str, Any] | None = None

    @property
    def kernel(self) -> str | None:
        """What tells this kernel from others; images of earlier releases have the artefact's."""
        return self.kernel_digest or self.digest

    @property
    def is_prebuilt(self) -> bool:
        """Whether it is one that somebody else built: fetched, not built here."""
        return self.variant.endswith(f"+{PREBUILT}")

    @property
    def is_built(self) -> bool:
        """Whether it can be booted at once."""
        return self.state == ImageState.BUILT

    @property
    def is_untestable(self) -> bool:
        """Whether its revision does not build or boot."""
        return self.state == ImageState.UNTESTABLE

    @property
    def is_unusable(self) -> bool:
        """Whether it cannot be made: the revision's fault, or the machines'."""
        return self.state in {ImageState.UNTESTABLE, ImageState.FAILED}


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedRow:
    """A build of which it is known what it read: `digest` is that of the list."""

    position: int
    label: str
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchRow:
    """A patch as it came, known by its SHA-256; `origin` says where it came from."""

    id: int
    digest: Digest
    origin: str
    requester: str
    fetched_at: float
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedBoots:
    """So many iterations of an image on a testbed and workload.

    At most one of `search_id`, `ab_test_id` and `judgement_id` says for what; `serial` counts the
    requests for it, or for its testbed; `round` counts the jobs for this request that the lab gave
    up. `tunables` are set before the traffic, as core.variant writes them.
    """

    image_id: ImageId
    testbed: str
    workload: str
    iterations: int
    reason: ProbeReason
    priority: int
    search_id: SearchId | None = None
    ab_test_id: AbTestId | None = None
    judgement_id: JudgementId | None = None
    serial: int = 0
    round: int = 0
    tunables: str = ""
    epoch: str = ""

    @property
    def series(self) -> SeriesName:
        """The testbed and the workload on it."""
        return self.testbed, self.workload


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeRequest(AskedBoots):
    """What is asked of the lab; `name` tells apart what nothing else does."""

    name: str = ""

    @property
    def key(self) -> str:
        """What two requests have in common that are one, repeated: it is compared, never read."""
        if self.name:
            return self.name
        parents = (self.search_id, self.ab_test_id, self.judgement_id)
        parts = (self.reason, *(parent or 0 for parent in parents), self.testbed, self.workload)
        return ":".join(map(str, (*parts, self.image_id, self.serial, self.round)))


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeRow(AskedBoots):
    """A request for iterations, as stored.

    `key` is that of its ProbeRequest; `token` names its job on the lab worker; `failure_kind` is a
    core.wire.FailureKind; `judged` says that its sample was compared; `budget_of` is the person
    from whose boots of a day these are, None where nobody is limited.
    """

    id: int
    key: str
    token: str
    state: ProbeState
    attempt: Count
    brid: int | None
    failure: str | None
    failure_kind: str | None
    created_at: float
    issued_at: float | None
    ended_at: float | None
    judged: Flag
    version: Count
    budget_of: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationRow:
    """One boot and one blast: a value in `unit`, or the failure that left none.

    An iteration that failed before anything was counted has the unit ''. `is_primary` marks
    the unit that the lab reported first for this iteration. `times` are what the clocks say of the
    run of a command, as RunTimes tells them.
    """

    id: int
    probe_id: ProbeId
    image_id: ImageId
    testbed: str
    workload: str
    epoch: str
    ordinal: int
    unit: str
    is_primary: bool
    value: float | None
    failure: str | None
    at_s: float
    duration_s: float
    times: Mapping[str, Any] | None = None
    # The long columns stand last: SQLite then finds the short ones without reading past a log.
    facts: Mapping[str, Any]
    log: str
    tunables: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueNamesRow:
    """A list of the names that a run's values have, as core.metric packs it.

    It is known by the SHA-256 of what is packed, and is in the order of the values.
    """

    id: int
    testbed: str
    workload: str
    digest: Digest
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ValuesRow:
    """All named values of one iteration, eight bytes each; NaN where there is no number."""

    id: int
    iteration_id: IterationId
    names_id: ValueNamesId
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureRow:
    """One capture, known by the SHA-256 of its folded stacks, which `body` holds in gzip's form.

    `packets` is on how many packets its counts are based, 0 where that is unknown; `places` holds
    the `path:line` of functions, JSON in gzip's form, None without any. What of the two there is
    goes into the SHA-256 behind the stacks.
    """

    id: int
    digest: Digest
    counter: str
    taken_at: float
    body: bytes
    packets: int = 0
    places: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileRow:
    """One request for a capture of one image on one testbed and workload.

    `key` names the request, for all who repeat it; `token` names its job on the lab worker;
    `digest` is the capture's, None until there is one. It was asked for by a search or a
    comparison.
    """

    id: int
    key: str
    token: str
    image_id: ImageId
    search_id: SearchId | None
    ab_test_id: AbTestId | None
    testbed: str
    workload: str
    tunables: str
    state: ProfileState
    attempt: Count
    brid: int | None
    failure: str | None
    digest: Digest | None
    created_at: float
    ended_at: float | None
    version: Count
