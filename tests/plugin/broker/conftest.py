"""Fixtures of the broker's tests: a repository to push to, and a testbed taken out of bench.yml."""

from pathlib import Path

import pytest

from tests.fakes.removed import WAYS, no_errors
from tests.gitrepo import make_repository, numbered


@pytest.fixture
def source(tmp_path) -> Path:
    """A repository of r1 to r3."""
    make_repository(tmp_path / "watched", numbered(1, 3))
    return tmp_path / "watched"


@pytest.fixture(params=WAYS)
def way(request):
    """What is replaced in bench.yml, and what is said then of forwarding on apu."""
    return WAYS[request.param]


@pytest.fixture
def errors():
    """Nothing goes to the master's log as an error."""
    with no_errors():
        yield
