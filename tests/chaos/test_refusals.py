"""The database that chaos has refuse one kind of statement refuses that one, for a while."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.chaos.refusals import Refusals
from tests.databases import DATABASES, new_schema, postgresql_server, sqlite_engine


@dataclass
class Place:
    """A database with one table."""

    database: sa.Engine

    def add(self) -> None:
        with self.database.begin() as conn:
            conn.execute(sa.text("INSERT INTO builds VALUES (1)"))


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        made = Place(sqlite_engine(tmp_path / "state.sqlite"))
        create(made)
        yield made
        made.database.dispose()
    else:
        with new_schema(postgresql_server()) as engine:
            made = Place(engine)
            create(made)
            yield made


def create(place: Place) -> None:
    with place.database.begin() as conn:
        conn.execute(sa.text("CREATE TABLE builds (id integer)"))


def test_a_statement_is_refused_until_the_end(place: Place) -> None:
    refusals = Refusals(place)
    for _ in range(2):
        refusals.begin("INSERT ON builds")
        refusals.settle()
        with pytest.raises(sa.exc.OperationalError, match=r"disk.is.full"):
            place.add()
        refusals.end()
        refusals.settle()
        place.add()


def test_one_that_a_power_cut_brought_back_is_dropped(place: Place) -> None:
    Refusals(place).begin("INSERT ON builds")
    after = Refusals(place)
    after.end()
    after.settle()
    place.add()
