"""A search that an earlier release left in the midst goes on in this one, from what it measured."""

from __future__ import annotations

import pytest

from buildbot_bench.plugin.broker.searching import Searching
from tests.fakes.database import DirectPool
from tests.fakes.earlier_farms import earlier_farm, upgrade_to

SLOW_FROM = 7
# What tests/data/farm/searching_0020.sql holds: six boots, and one that is asked for.
MEASURED = 6


@pytest.fixture
def pool(tmp_path):
    """The tables of the earlier release's farm, upgraded."""
    engine = earlier_farm("searching_0020.sql", tmp_path / "state.sqlite")
    upgrade_to(engine, "head")
    yield DirectPool(engine)
    engine.dispose()


def level(position: int) -> float:
    return 1e6 if position < SLOW_FROM else 0.8e6


async def test_a_search_goes_on_after_the_upgrade_where_it_was(farm, past):
    (search,) = await farm.store.searches()
    earlier = await farm.store.probes_of_search(search.id)
    assert [probe.state for probe in earlier] == ["done"] * MEASURED + ["new"]
    searching = Searching(farm)
    for _ in range(40):
        await searching.advance()
        if not await past.lab_answers(level):
            break
    ended = await farm.store.search(search.id)
    assert ended.state == "found"
    assert [(step.old, step.new) for step in ended.answer.steps] == [(SLOW_FROM - 2, SLOW_FROM - 1)]
    probes = await farm.store.probes_of_search(search.id)
    assert [probe.id for probe in probes[: MEASURED + 1]] == [probe.id for probe in earlier]
    boots = [await farm.store.iterations_of_probe(probe.id) for probe in probes]
    assert [len(rows) for rows in boots] == [probe.iterations for probe in probes]
