"""The farm that `python -m benchmarks year` generates is whole, and what is too slow is told."""

import time

import pytest
import sqlalchemy as sa
from buildbot.db.model import Model

from benchmarks.many_labs import Size, make_repositories
from benchmarks.year import Notes
from benchmarks.year_farm import UNTOLD, keep_kernels, live, settings
from buildbot_bench.demo.on_disk import FarmPlace
from buildbot_bench.demo.verifying import verify
from buildbot_bench.plugin.db.schema import REPORT, SEARCH
from tests.databases import DATABASES, new_database, postgresql_server

SIZE = Size(commits=180, searches=1, ended=2 * UNTOLD + 5, groups=1)


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    if request.param == "sqlite":
        yield sa.make_url(f"sqlite:///{tmp_path}/state.sqlite")
        return
    with new_database(postgresql_server()) as text:
        yield sa.make_url(text)


def test_a_generated_year_is_whole(url, tmp_path):
    make_repositories(tmp_path, SIZE)
    (tmp_path / "bench.yml").write_text(settings(tmp_path, SIZE, 25))
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    Model.metadata.create_all(engine)
    live(url, tmp_path, SIZE, time.time())
    assert keep_kernels(url, tmp_path / "artefacts") > 0
    workflow = tmp_path / "bench.yml"
    place = FarmPlace(directory=tmp_path, master=tmp_path, db=url, workflow=workflow, states=())
    assert verify(place, idle=False).violations == ()
    with engine.connect() as conn:
        untold = sa.select(sa.func.count()).where(
            SEARCH.c.state == "found", ~sa.exists().where(REPORT.c.search_id == SEARCH.c.id)
        )
        assert conn.execute(untold).scalar_one() == UNTOLD


def test_a_slow_page_is_told_of(capsys):
    notes = Notes()
    notes.page("Lab", "idle", (1.9, 1.9), shown=True)
    notes.page("Lab", "first cycle", (5.0, 5.0), shown=True)
    assert notes.wrong == []
    notes.page("Lab", "idle", (2.2, 2.1), shown=True)
    assert "Lab: 2.20 s" in notes.wrong[0]
    assert capsys.readouterr().out.count("WRONG") == 1
