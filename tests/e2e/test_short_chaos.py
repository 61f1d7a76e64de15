"""The first minute of `make chaos`: a few kills in a seeded order leave a farm whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.kills import KILLS
from tests.chaos.run import Plan, chaos

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

SEED, KILLED = 32, 5


def test_a_farm_is_whole_after_some_kills(tmp_path: Path) -> None:
    said: list[str] = []
    plan = Plan(
        seed=SEED,
        kills=KILLED,
        minutes=10,
        faults=tuple(fault for fault in KILLS if fault.name != "power cut"),
        searches=1,
        comparisons=0,
    )
    ledger = chaos(tmp_path, plan, None, said.append)
    assert ledger.violations == [], "\n".join(said)
    assert ledger.kills == KILLED
