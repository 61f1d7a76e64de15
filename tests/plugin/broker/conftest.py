"""Fixtures of the broker's tests that take a testbed out of bench.yml."""

import pytest

from tests.fakes.removed import WAYS, no_errors


@pytest.fixture(params=WAYS)
def way(request):
    """What is replaced in bench.yml, and what is said then of forwarding on apu."""
    return WAYS[request.param]


@pytest.fixture
def errors():
    """Nothing goes to the master's log as an error."""
    with no_errors():
        yield
