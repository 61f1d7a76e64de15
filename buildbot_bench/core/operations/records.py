"""Records of a farm's tables and directories for invariants; times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# The broker looks every 30 s (BENCH_RECONCILE_S) at what ended; a slow machine has twenty such
# looks. A shorter time raises false alarms, a longer one only tells later.
GRACE_S = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When the farm was looked at. `idle`: nothing may wait or run any more.

    `master_since_s` is since when a master runs, None when none does or it is not known.
    `worked_until_s` is when a master that runs no more was last seen to live.
    """

    now_s: float
    master_since_s: float | None = None
    idle: bool = False
    worked_until_s: float | None = None

    def is_overdue(self, since_s: float | None, grace_s: float = GRACE_S) -> bool:
        """Whether a master had the time to see to what came about then; always of an idle farm."""
        if self.idle:
            return True
        if self.master_since_s is None:
            return False
        return self.now_s - max(since_s or 0.0, self.master_since_s) > grace_s

    def was_missed(self, since_s: float, grace_s: float = GRACE_S) -> bool:
        """Whether a master, the one that runs or one before it, had the time to see to it."""
        worked_s = (self.worked_until_s or 0.0) - since_s
        return self.is_overdue(since_s, grace_s) or worked_s > grace_s


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildRequest:
    """One of Buildbot's; `complete_at_s` is None while it goes on."""

    id: int
    complete_at_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeFacts:
    """A probe and how many boots the tables have of it.

    `recorded` counts ordinals, of which `first` and `last` are the lowest and the highest one;
    `primaries` counts rows that are the primary unit of their boot. `kept` says that the probe
    ended with what it asked for.
    """

    id: int
    token: str
    is_open: bool
    is_issued: bool = False
    kept: bool = False
    cancelled: bool = False
    asked: int = 0
    recorded: int = 0
    first: int | None = None
    last: int | None = None
    primaries: int = 0
    brid: int | None = None
    issued_at_s: float | None = None
    ended_at_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BootFacts:
    """One boot that ended: its ordinal, and a value or None for each unit."""

    ordinal: int
    values: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabJob:
    """A job's directory on a lab worker: `where` it lies, and the boots that the lab reported."""

    name: str
    where: str
    is_running: bool
    boots: tuple[BootFacts, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JobOwner:
    """The row that asked for a job, as in `probe 7`, and what the tables have of its boots."""

    row: str
    is_open: bool
    cancelled: bool = False
    ended_at_s: float | None = None
    boots: tuple[BootFacts, ...] = ()
    measures: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmProcess:
    """A process of the farm's; `owner` names what it belongs to, None when nothing does."""

    pid: int
    command: str
    owner: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageFacts:
    """An image that is built or being built. `stored`: the tables have its artefact's row.

    `changed_at_s` is when the row was changed last.
    """

    id: int
    label: str
    is_built: bool
    digest: str | None
    brid: int | None
    changed_at_s: float
    stored: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtefactFacts:
    """The row of an artefact. `claimed`: a built image says that it is there."""

    digest: str
    size: int
    stored_at_s: float
    claimed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchFacts:
    """A search. `found`: it came to a culprit, a slope or a breakage.

    `has_answer`: there is what a report is composed of; `has_reason`: there is why it has none.
    """

    id: int
    state: str
    is_open: bool
    found: bool
    has_answer: bool
    has_reason: bool
    ended_at_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class UntoldFacts:
    """A row that must be mailed and of which there is no mail: `problem` says what it is.

    It came about at `since_s`. `settled_at_s` is when the last thing ended that its mail may have
    waited for, None while one goes on.
    """

    row: str
    problem: str
    since_s: float
    settled_at_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableValue:
    """A column of a row that holds `value`, which is not `wanted`: no program can read the row."""

    table: str
    row_id: int
    column: str
    value: str
    wanted: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongDigest:
    """A digest column of `row` (such as `image 3`) that differs from the SHA-256 `found`."""

    row: str
    column: str
    told: str
    of: str
    found: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """A row whose number does not follow that of the row before it; `missing` says what lacks."""

    row: str
    missing: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageFacts:
    """A mail or a notice, `row` as in `mail 3`.

    `message_id` is the mail's; of a notice it is what tells it from others.
    """

    row: str
    message_id: str
    is_sent: bool
    is_waiting: bool
    sent_at_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DanglingReference:
    """A row of a table whose column names a row of another table that is not there."""

    table: str
    row_id: int
    column: str
    value: str
    target: str
