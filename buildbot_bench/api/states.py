"""Where searches, probes and comparisons stand."""

from enum import StrEnum


class ProbeState(StrEnum):
    """`lost`: its build ended without all iterations and is not tried again."""

    NEW = "new"
    ISSUED = "issued"
    DONE = "done"
    LOST = "lost"
    CANCELLED = "cancelled"


class SearchState(StrEnum):
    """`running` and `cancelling` are the ones that the broker still works on."""

    RUNNING = "running"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    FOUND = "found"
    SLOPE = "slope"
    NOT_REPRODUCED = "not-reproduced"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class AbTestState(StrEnum):
    """`running` and `cancelling` are the ones that the broker still works on.

    `awaiting approval`: its patches are a stranger's; `rejected`: they are not built.
    `untestable`: one of the variants does not build, boot or pass traffic; of the others there is
    what can be compared.
    """

    AWAITING = "awaiting approval"
    REJECTED = "rejected"
    RUNNING = "running"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    DONE = "done"
    UNTESTABLE = "untestable"
    FAILED = "failed"
