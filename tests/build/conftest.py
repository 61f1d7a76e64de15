"""Fixtures of the builder's tests."""

import pytest

from tests.build.builder import Builder, new_builder


@pytest.fixture
def builder(tmp_path, monkeypatch) -> Builder:
    return new_builder(tmp_path, monkeypatch)
