"""Two minutes of `make chaos`, one on each database, and the time to finish."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.ledger import table
from tests.chaos.run import Plan, chaos
from tests.databases import new_database, postgresql_server

# A mail whose sending was cut off is tried again after six minutes.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

PLAN = Plan(seed=7, kills=40, minutes=1, fewest=6, searches=1)
EARLY_OUTAGE = replace(PLAN, seed=64)  # the second fault is a database that is away


def test_a_farm_on_sqlite_is_whole_after_a_minute_of_chaos(tmp_path: Path) -> None:
    holds(tmp_path, PLAN, None)


def test_a_farm_on_postgresql_is_whole_after_a_minute_of_chaos(tmp_path: Path) -> None:
    with new_database(postgresql_server()) as url:
        holds(tmp_path, EARLY_OUTAGE, url)


def holds(home: Path, plan: Plan, url: str | None) -> None:
    """Have chaos strike a farm, and expect that nothing was violated by enough kills."""
    said: list[str] = []
    ledger = chaos(home, plan, url, said.append)
    told = "\n".join((*said, table(ledger)))
    assert ledger.violations == [], told
    assert ledger.kills >= plan.fewest, told
