"""Somebody pushes a commit that libgit2 refuses; the farm measures it and what comes after it."""

from pathlib import Path

import pytest

from buildbot_bench.demo.generated_history import GeneratedCommit, write_history
from tests.e2e.checks import wait_until_idle
from tests.e2e.replay_farm import History, ReplayFarm, Shape
from tests.gitrepo import Commit, add_commits, add_raw_commit, git

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

MEASURED = """\
SELECT DISTINCT position FROM bench_iteration JOIN bench_image ON bench_image.id = image_id
WHERE value IS NOT NULL ORDER BY position"""
CHANGES = "SELECT count(*) FROM changes"
EVE = b"Eve <eve@example.org> 99999999999999999999 +0000"


@pytest.fixture
def farm(farms, tmp_path: Path) -> ReplayFarm:
    path = tmp_path / "history"
    commit = GeneratedCommit(svn=1, author="ann", message="1\n", files={"kernel": "r311849\n"})
    shas = write_history(path, [commit])
    return farms(Shape(tip="r1", poll_s=1.0), History(path=path, shas=shas))


def tidied_up_at_each_fetch(farm: ReplayFarm) -> None:
    """Have git do to the poller's repository and to the mirror what it does to large ones."""
    for name in ("gitpoller-work", "mirror.git"):
        place = farm.directory / "master" / name
        for setting in ("fetch.unpackLimit=1", "gc.autoPackLimit=1", "gc.autoDetach=false"):
            git(place, "config", *setting.split("="))


def test_all_that_was_pushed_is_measured_and_nothing_fails(farm: ReplayFarm) -> None:
    farm.wait(lambda: farm.rows(MEASURED), "the first tip's sample")
    tidied_up_at_each_fetch(farm)
    text = b"author %s\ncommitter %s\n\nodd\n" % (EVE, EVE)
    odd = add_raw_commit(farm.source, text, name="kernel", to="r311850\n")
    add_commits(farm.source, [Commit(files={"kernel": f"r31185{n}\n"}) for n in (1, 2)])
    farm.wait(lambda: farm.value(CHANGES) == 3, "Buildbot's poller")
    add_commits(farm.source, [Commit(files={"kernel": "r311853\n"})])
    farm.wait(lambda: farm.value(CHANGES) == 4, "Buildbot's poller, after it has tidied up")
    positions = [{"position": position} for position in range(1, 6)]
    farm.wait(lambda: farm.rows(MEASURED) == positions, "the samples of all five commits")
    wait_until_idle(farm)

    (row,) = farm.rows("SELECT * FROM bench_commit WHERE position = 2")
    assert (row["sha"], row["subject"], row["committed_at_s"]) == (odd, "odd", 0)
    assert farm.get("history/replay/forwarding/2")["views"][0]["subject"] == "odd"
    log = (farm.directory / "master.log").read_text()
    assert "Traceback" not in log
