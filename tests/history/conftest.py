"""A repository that tests write, and a history that mirrors it."""

from pathlib import Path

import pytest

from buildbot_bench.history import MirrorHistory


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return tmp_path / "origin"


@pytest.fixture
def history(tmp_path: Path, origin: Path) -> MirrorHistory:
    return MirrorHistory(tmp_path / "mirror", str(origin))
