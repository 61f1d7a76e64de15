"""The same search with its tables on PostgreSQL, by the one line that changes for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
import sqlalchemy as sa

from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_each_probe_got_what_it_asked_for,
    steps_of,
)
from tests.e2e.replay_farm import ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SERVER = os.environ.get("BENCH_TEST_POSTGRESQL", "postgresql+psycopg://root@127.0.0.1:5432/test")


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of an empty database, dropped afterwards."""
    name = f"bench_{uuid4().hex[:12]}"
    server = sa.create_engine(
        SERVER, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 5}
    )
    try:
        connection = server.connect()
    except sa.exc.OperationalError as error:
        pytest.skip(f"no PostgreSQL at {SERVER} (set BENCH_TEST_POSTGRESQL): {error.orig}")
    with connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
        yield server.url.set(database=name).render_as_string(hide_password=False)
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))


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
