"""1600 commits in one push, while the master is killed: none is lost, none measured twice."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.checks import assert_whole
from tests.e2e.histories import numbered_history
from tests.e2e.replay_farm import History, ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

COMMITS = "SELECT count(*) FROM bench_commit"
CHANGES = "SELECT count(*) FROM changes"
IN_ORDER = """\
SELECT label FROM bench_probe JOIN bench_image ON bench_image.id = image_id
WHERE bench_probe.reason IN ('commit', 'backfill') ORDER BY bench_probe.id"""
FIRST, LAST = 311848, 313448


@pytest.fixture
def history(tmp_path: Path) -> History:
    """As many commits as the model case has, none of which changes the kernel's speed."""
    return numbered_history(tmp_path, FIRST, LAST, files={"kernel": "r311849\n"})


@pytest.fixture
def farm(farms, history: History) -> ReplayFarm:
    farm = farms(Shape(tip=f"r{FIRST}", poll_s=3.0), history)
    farm.wait(
        lambda: farm.value("SELECT count(*) FROM bench_probe WHERE state = 'done'"),
        "the first tip's sample",
    )
    return farm


def kill_and_resume(farm: ReplayFarm) -> None:
    farm.kill("master")
    farm.resume("master")


def mirrored(farm: ReplayFarm, sha: str) -> bool:
    """Whether the master's mirror has a commit, whatever the tables know of it."""
    mirror = farm.directory / "master" / "mirror.git"
    command = ["git", f"--git-dir={mirror}", "cat-file", "-e", sha]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_burst_of_1600_commits_with_the_master_killed_in_the_middle(farm: ReplayFarm) -> None:
    shas = farm.history.shas
    farm.history.publish(farm.source, f"r{LAST}")
    farm.wait(lambda: mirrored(farm, shas[f"r{LAST}"]), "the fetch")
    kill_and_resume(farm)
    farm.wait(lambda: farm.value(CHANGES) > 20, "Buildbot's poller in the middle of the push")
    kill_and_resume(farm)
    farm.wait(lambda: farm.value(COMMITS) == len(shas), "all commits")
    farm.wait(lambda: len(farm.rows(IN_ORDER)) >= 4, "the probes of the newest commits")

    rows = farm.rows("SELECT sha, position FROM bench_commit ORDER BY position")
    assert [row["sha"] for row in rows] == list(shas.values())
    assert [row["position"] for row in rows] == list(range(1, len(shas) + 1))
    asked = [row["label"] for row in farm.rows(IN_ORDER)]
    assert len(set(asked)) == len(asked)
    assert asked[:2] == [f"r{FIRST}", f"r{LAST}"]
    assert asked[2:] == [f"r{LAST - skipped}" for skipped in range(1, len(asked) - 1)]
    assert_whole(farm, idle=False)  # the rest of the commits is still to be measured
