"""A row of what is measured: asked of the lab, and what each boot gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from buildbot_bench.plugin.db.states import ProbeReason, ProbeState, ProfileState, TrialState


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeRow:
    """One request for iterations of one image on one testbed and workload.

    `key` names the request, whoever repeats it; `token` names its job on the lab worker;
    `failure_kind` is a core.wire.FailureKind; `judged` says that its sample was compared;
    `tunables` are set before the traffic, as core.variant writes them.
    """

    id: int
    key: str
    token: str
    image_id: int
    testbed: str
    workload: str
    epoch: str
    iterations: int
    priority: int
    reason: ProbeReason
    search_id: int | None
    state: ProbeState
    attempt: int
    brid: int | None
    failure: str | None
    failure_kind: str | None
    created_at: float
    issued_at: float | None
    ended_at: float | None
    judged: bool
    version: int
    tunables: str = ""
    trial_id: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationRow:
    """One boot and one blast: a value in `unit`, or the failure that left none.

    An iteration that failed before anything was counted has the unit ''. `is_primary` marks
    the unit that the lab reported first for this iteration.
    """

    id: int
    probe_id: int
    image_id: int
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
    log: str
    facts: Mapping[str, Any]
    tunables: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredRow:
    """One iteration with the place of its image in the history: what a search reads."""

    position: int
    ordinal: int
    image_id: int
    value: float | None
    at_s: float
    failure: str | None
    probe_id: int
    epoch: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRow:
    """Two variants to be compared: `lanes` are pairs of testbed and workload, `iterations` is n.

    A label is the variant as it was written, its base's name in the usual form. `decided_by` is who
    approved or rejected the patches; None when nobody had to.
    """

    id: int
    base_image_id: int
    base_tunables: str
    base_label: str
    new_image_id: int
    new_tunables: str
    new_label: str
    lanes: Sequence[Sequence[str]]
    iterations: int
    confidence: float
    min_effect: float
    requester: str
    state: TrialState
    detail: str | None
    created_at: float
    ended_at: float | None
    version: int
    decided_by: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.ended_at is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantineRow:
    """A span in which a testbed was not to be believed, since a control measurement showed it.

    `probe_id` is the request of that measurement, `since_s` when the last good one before it
    ended: what the testbed measured after it is in doubt, unless `trusted` says that it was a
    false alarm. `shift` is by what fraction the control image was off; None: it gave no value.
    `ended_by` is a person, or what else ended it.
    """

    id: int
    probe_id: int
    testbed: str
    workload: str
    epoch: str
    since_s: float
    shift: float | None
    reason: str
    begun_at: float
    ended_at: float | None
    ended_by: str | None
    trusted: bool
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureRow:
    """One capture, known by the SHA-256 of its folded stacks, which `body` holds in gzip's form.

    `packets` is on how many packets its counts are based, 0 where that is unknown; `places` holds
    the `path:line` of functions, JSON in gzip's form, None without any. What of the two there is
    goes into the SHA-256 behind the stacks.
    """

    id: int
    digest: str
    counter: str
    taken_at: float
    body: bytes
    packets: int
    places: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileRow:
    """One request for a capture of one image on one testbed and workload.

    `key` names the request, whoever repeats it; `token` names its job on the lab worker; `digest`
    is the capture's, None until there is one. It was asked for by a search or a trial.
    """

    id: int
    key: str
    token: str
    image_id: int
    search_id: int | None
    trial_id: int | None
    testbed: str
    workload: str
    tunables: str
    state: ProfileState
    attempt: int
    brid: int | None
    failure: str | None
    digest: str | None
    created_at: float
    ended_at: float | None
    version: int
