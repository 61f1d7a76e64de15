"""The judge's own comparison: the master dies by SIGKILL every ten seconds while it searches."""

from __future__ import annotations

import time

import pytest

from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_each_probe_got_what_it_asked_for,
    assert_nothing_was_cancelled,
    assert_whole,
    steps_of,
)
from tests.e2e.replay_farm import ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

LIFE_S = 10.0
# A machine so slow that a master gets nothing done in its ten seconds lets it live longer.
LONGEST_LIFE_S = 60.0
FEWEST_KILLS = 3
# A machine on which so many do not suffice spends its time with the starts of masters.
MOST_KILLS = 10
PATIENCE_S = 600.0


@pytest.fixture
def farm(farms) -> ReplayFarm:
    return farms(Shape(blast_s=1.8))


def ended(farm: ReplayFarm, search_id: int) -> bool:
    query = "SELECT ended_at FROM bench_search WHERE id = :id"
    return farm.value(query, id=search_id) is not None


def outlived_by(farm: ReplayFarm, search_id: int) -> bool:
    """Let the master live its ten seconds; whether the search still runs then."""
    began_s = time.monotonic()
    iterations = "SELECT count(*) FROM bench_iteration"
    known = farm.value(iterations)
    while not ended(farm, search_id):
        time.sleep(0.1)
        lived_s = time.monotonic() - began_s
        if lived_s > LONGEST_LIFE_S or (lived_s > LIFE_S and farm.value(iterations) > known):
            return True
    return False


def test_master_killed_every_ten_seconds_comes_to_the_same_answer(farm: ReplayFarm) -> None:
    search_id = farm.begin_search("r311848", "r312400")
    kills = 0
    while kills < MOST_KILLS and outlived_by(farm, search_id):
        farm.kill("master")
        kills += 1
        farm.resume("master")
    farm.wait(lambda: ended(farm, search_id), "the end of the search", PATIENCE_S)
    search = farm.wait_for_search(search_id)
    assert kills >= FEWEST_KILLS
    assert search["state"] == "found"
    # The only change of level in this range: the answer of an undisturbed search.
    assert steps_of(search["report"]) == [("r311848", "r311849", -1)]
    assert_each_iteration_is_there_once(farm)
    assert_each_probe_got_what_it_asked_for(farm)
    assert_nothing_was_cancelled(farm)
    assert_whole(farm)
