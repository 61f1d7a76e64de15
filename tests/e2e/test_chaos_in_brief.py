"""Half a minute of `make chaos` on SQLite, and the time to finish: the nightly run does more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.ledger import table
from tests.chaos.run import Plan, chaos

# A machine that is busy takes as long again to finish what was asked.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PLAN = Plan(seed=7, kills=20, minutes=0.5, searches=1, settle_s=300.0)
FEWEST_KILLS = 3


def test_a_farm_is_whole_after_some_chaos(tmp_path: Path) -> None:
    said: list[str] = []
    ledger = chaos(tmp_path, PLAN, None, said.append)
    told = "\n".join((*said, table(ledger)))
    assert ledger.violations == [], told
    assert ledger.kills >= FEWEST_KILLS, told
