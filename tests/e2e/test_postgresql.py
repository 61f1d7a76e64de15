"""The same search with its tables on PostgreSQL, by the one line that changes for it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from buildbot_bench.demo.backup import make_backup, restore
from buildbot_bench.demo.verifying import find_troubles, verify
from buildbot_bench.plugin.operations.copies import snapshot
from tests.databases import new_database, postgresql_server
from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_each_probe_got_what_it_asked_for,
    assert_every_page_answers,
    assert_whole,
    place_of,
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


def test_the_farm_is_well_and_comes_back_whole_from_its_backup(
    farm: ReplayFarm, tmp_path: Path
) -> None:
    assert_whole(farm)
    place = place_of(farm)

    def is_well() -> bool:
        # How full the disk is, is the machine's business.
        return all(one.part == "disk" for one in find_troubles(place))

    farm.wait(is_well, "workers that found the master again")
    with snapshot(place.db) as conn:
        told = conn.execute(sa.text("SELECT info FROM workers")).scalars().all()
    assert all(json.loads(info)["version"] for info in told)
    make_backup(place, tmp_path / "backup", artefacts=False, testbeds=None)
    new = tmp_path / "new"
    with new_database(postgresql_server()) as url:
        restore(tmp_path / "backup", new, sa.make_url(url))
        workflow = new / "bench.yml"
        there = replace(
            place,
            directory=new,
            master=new / "master",
            db=sa.make_url(url),
            workflow=workflow,
            states=(),
        )
        verdict = verify(there, idle=False)
    assert verdict.violations == ()
    assert verdict.checked["boots"] > 0
    assert (new / "master.cfg").is_file()
