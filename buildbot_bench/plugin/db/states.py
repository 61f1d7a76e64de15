"""The states and reasons that rows of the bench_* tables pass through."""

from enum import IntEnum, StrEnum

from buildbot_bench.api.states import ProbeState, SearchState


class ImageState(StrEnum):
    """`untestable` says something of the revision, `failed` only of the machines that build.

    `dropped`: was to be built ahead, and gave way to what is waited for; or was built, and its
    artefact is there no longer. It is built when it is asked for. `held`: has a patch without
    approval, and is not built.
    """

    HELD = "held"
    WANTED = "wanted"
    BUILDING = "building"
    BUILT = "built"
    UNTESTABLE = "untestable"
    FAILED = "failed"
    DROPPED = "dropped"


class Priority(IntEnum):
    """Of what one claimant wants the highest goes first, and the oldest of equals.

    Buildbot's requests have it, too: builders start the highest first. A testbed is shared out
    before that, by core.sharing.
    """

    PERSON = 30
    CONTROL = 25  # three boots a day; a search on a testbed out of control is in vain
    SEARCH = 20
    CONFIRM = 15
    COMMIT = 10
    AHEAD = 5
    SPARE = 2
    BACKFILL = 0
    IMPROVEMENT = -1  # its search waits for a lab that idles


class ProbeReason(StrEnum):
    """Who asked for the iterations."""

    COMMIT = "commit"
    BACKFILL = "backfill"
    CONFIRM = "confirm"
    SEARCH = "search"
    PERSON = "person"
    CONTROL = "control"
    SCHEDULE = "schedule"
    WORKLOAD = "workload"  # whether the workload works

    @property
    def priority(self) -> Priority:
        """What they usually have."""
        match self:
            case ProbeReason.WORKLOAD:
                return Priority.CONTROL
            case ProbeReason.SCHEDULE:
                return Priority.COMMIT
        return Priority[self.name]


class JudgementState(StrEnum):
    """What Student's t and the policy made of two samples."""

    NOTHING = "nothing"
    SUSPICION = "suspicion"
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNFIT = "unfit"


class SearchReason(StrEnum):
    """Who started the search."""

    ALARM = "alarm"
    PERSON = "person"


class SearchKind(StrEnum):
    """What a search looks for: a change of level, or what stopped building or booting."""

    EFFECT = "effect"
    BUILD = "build"
    BOOT = "boot"


class ReportState(StrEnum):
    """`refused`: the server will never take it; `given-up`: not before the master starts again.

    `withheld`: an improvement that waits for the digest; `digested`: another report carries it.
    """

    NEW = "new"
    SENDING = "sending"
    SENT = "sent"
    REFUSED = "refused"
    GIVEN_UP = "given-up"
    WITHHELD = "withheld"
    DIGESTED = "digested"


class MarkKind(StrEnum):
    """What a person says of a report or a verdict; `again` asks for fresh boots instead.

    `withdrawn` takes back what was said before: nothing counts as said.
    """

    EXPECTED = "expected"
    NOISE = "noise"
    FIXED = "fixed"
    AGAIN = "again"
    WITHDRAWN = "withdrawn"


class ProfileState(StrEnum):
    """A request for one capture of where a kernel's cycles go; `failed`: there will be none."""

    NEW = "new"
    ISSUED = "issued"
    DONE = "done"
    FAILED = "failed"


ALARMS = (JudgementState.REGRESSION, JudgementState.IMPROVEMENT)
UNBUILT = (ImageState.WANTED, ImageState.BUILDING)
UNSENT = frozenset({ReportState.NEW, ReportState.SENDING})
# Searches that the broker still works on, and those that found something.
OPEN_SEARCHES = frozenset({SearchState.RUNNING, SearchState.CANCELLING})
FRUITFUL_SEARCHES = frozenset({SearchState.FOUND, SearchState.SLOPE})
# Requests that may still bring something.
OPEN_PROBES = frozenset({ProbeState.NEW, ProbeState.ISSUED})
OPEN_PROFILES = frozenset({ProfileState.NEW, ProfileState.ISSUED})
