"""Pages on both databases, for tests that must hold on both."""

import pytest

from tests.databases import DATABASES


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    return request.param
