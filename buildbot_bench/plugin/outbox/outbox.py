"""The delivery of stored rows, each once and retried until accepted.

A row is claimed before an attempt, so that two masters do not deliver it twice. A master that finds
it `sending` after its claim has run out knows that this attempt has died.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.plugin.db.states import ReportState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import RETRY_FIRST_S, wait_s

_LOG = Logger()


class Outgoing(Protocol):
    """A row that is delivered; `attempts` counts those that were begun."""

    @property
    def attempts(self) -> int:
        """How many attempts were begun."""


Row = TypeVar("Row", bound=Outgoing)
Change = Mapping[str, Any]


class Delivery(Protocol[Row]):
    """One kind of delivery: which rows are due, and how one of them is delivered."""

    @property
    def kind(self) -> str:
        """What is delivered, in the plural."""

    @property
    def refusals(self) -> tuple[type[BenchError], ...]:
        """What a delivery raises when it would be in vain to try again."""

    async def begin(self) -> float:
        """Get ready for some attempts; how many seconds a claim holds."""

    async def due(self, now: float) -> Sequence[Row]:
        """The rows that wait for an attempt, and those whose claim has run out."""

    async def claim(self, row: Row, columns: Change) -> Row | None:
        """Change a row by compare-and-swap; None when another master was quicker."""

    async def settle(self, row: Row, columns: Change) -> Row | None:
        """The same, also for one who has lost the right to claim: what was delivered, was."""

    async def deliver(self, row: Row) -> Change:
        """Try once; what the row becomes. Raises one of `refusals`, or InfraError for later."""

    def postponed(self, row: Row, failure: InfraError) -> Change:
        """What a row becomes that was not taken this time."""

    def name(self, row: Row) -> str:
        """The row in the words of the log."""


class Outbox(Generic[Row]):
    """Delivers the due rows of one kind beside the broker's cycles."""

    def __init__(self, farm: Farm, delivery: Delivery[Row]) -> None:
        self._farm = farm
        self._delivery = delivery
        self.is_delivering = False

    def start(self) -> None:
        """Begin to deliver what is due, unless a delivery goes on."""
        if self.is_delivering:
            return
        self.is_delivering = True
        ended = Deferred.fromCoroutine(self._deliver_due())
        kind = self._delivery.kind
        ended.addErrback(
            lambda failure: _LOG.failure(
                "bench: {kind} could not be delivered; tried again later",
                failure=failure,
                kind=kind,
            )
        )
        ended.addBoth(self._ended)

    def _ended(self, _result: Any) -> None:
        self.is_delivering = False

    async def _deliver_due(self) -> None:
        due = await self._delivery.due(self._farm.now())
        if not due:
            return
        claim_s = await self._delivery.begin()
        for row in due:
            claim = {
                "state": ReportState.SENDING,
                "attempts": row.attempts + 1,
                "next_try_at": self._farm.now() + claim_s,
            }
            began = self._farm.now()
            claimed = await self._delivery.claim(row, claim)
            # A process that stood still meanwhile leaves the row to who finds its claim run out.
            if claimed is not None and self._farm.now() - began < RETRY_FIRST_S:
                await self._delivery.settle(claimed, await self._attempt(claimed))

    async def _attempt(self, row: Row) -> Change:
        try:
            return await self._delivery.deliver(row)
        except self._delivery.refusals as refusal:
            _LOG.warn(
                "bench: {row} is refused for good: {problem}",
                row=self._delivery.name(row),
                problem=str(refusal),
            )
            return {"state": ReportState.REFUSED, "last_error": str(refusal)}
        except InfraError as failure:
            return self._delivery.postponed(row, failure)


def delivered(farm: Farm, error: str | None = None) -> dict[str, Any]:
    """The columns of a row that was taken, by all but those whom `error` names."""
    return {"state": ReportState.SENT, "sent_at": farm.now(), "last_error": error}


def later(farm: Farm, row: Outgoing, error: str | None) -> dict[str, Any]:
    """The columns of a row that is tried again, the later the more attempts there were."""
    return {
        "state": ReportState.NEW,
        "next_try_at": farm.now() + wait_s(row.attempts),
        "last_error": error,
    }
