"""What a farm writes, and what `buildbot create-master` made for it, is closed to other users."""

import os

import pytest

from buildbot_bench.plugin.private_files import open_to_others
from tests.e2e.replay_farm import Shape

pytestmark = pytest.mark.e2e


@pytest.fixture
def usual_umask():
    """Everybody may read what is made from here on, as on most machines."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_farm_that_measured_has_no_file_that_others_may_read(usual_umask, farms):
    farm = farms(Shape(tip="r311849"), created=True)
    farm.wait_for_mirror()  # a git that goes on would rename files meanwhile
    farm.kill("master")
    _open_up(farm.directory / "master")
    assert list(open_to_others(farm.directory / "master"))
    farm.resume("master")

    assert farm.bisect("r311848", "r311849").returncode == 0

    trees = ("master", "builder", "lab")
    found = [str(path) for tree in trees for path, _ in open_to_others(farm.directory / tree)]
    assert found == []
    assert (farm.directory / "master" / "state.sqlite").stat().st_mode & 0o777 == 0o600
    closed = [*(farm.directory / tree for tree in trees), *farm.directory.glob("*.log")]
    assert not [path for path in closed if path.stat().st_mode & 0o077]


def _open_up(directory):
    """Give a directory the modes that `buildbot create-master` gives it under that umask."""
    directory.chmod(0o755)
    for path in directory.rglob("*"):
        if "secrets" not in path.parts:  # Buildbot does not start with those open
            path.chmod(0o755 if path.is_dir() else 0o644)
