"""How long to wait before what another host did not take is offered again."""

from __future__ import annotations

from twisted.application.internet import backoffPolicy

RETRY_FIRST_S = 60.0
RETRY_MOST_S = 3600.0

_policy = backoffPolicy(RETRY_FIRST_S, RETRY_MOST_S, factor=2.0, jitter=lambda: 0.0)


def wait_s(attempts: int) -> float:
    """Longer after each of so many attempts, at least one; never above an hour."""
    return float(_policy(attempts - 1))
