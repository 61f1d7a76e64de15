"""How long to wait before what another host did not take is offered again."""

from __future__ import annotations

RETRY_FIRST_S = 60.0
RETRY_MOST_S = 3600.0


def wait_s(attempts: int) -> float:
    """Longer after each of so many attempts, at least one; never above an hour."""
    return min(RETRY_FIRST_S * 2.0 ** (attempts - 1), RETRY_MOST_S)
