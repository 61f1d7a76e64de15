"""The same search with its tables on PostgreSQL, by the one line that changes for it."""

from __future__ import annotations

import pytest

from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_each_probe_got_what_it_asked_for,
    assert_every_page_answers,
    steps_of,
)
from tests.e2e.replay_farm import ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def farm(database: str, farms) -> ReplayFarm:
    return farms(Shape(db_url=database))


def test_search_on_postgresql_survives_a_killed_master(farm: ReplayFarm) -> None:
    search_id = farm.begin_search("r313440", "r313448")
    iterations = "SELECT count(*) FROM bench_iteration WHERE value IS NOT NULL"
    farm.wait(lambda: farm.value(iterations) >= 3, "some iterations")
    farm.kill("master")
    farm.resume("master")
    search = farm.wait_for_search(search_id)
    assert steps_of(search["report"]) == [("r313447", "r313448", -1)]
    assert_each_iteration_is_there_once(farm)
    assert_each_probe_got_what_it_asked_for(farm)


def test_every_page_answers_on_postgresql(farm: ReplayFarm) -> None:
    assert_every_page_answers(farm)
