"""Pages on both databases, for tests that must hold on both."""

from __future__ import annotations

import pytest

from tests.databases import DATABASES


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    return request.param
