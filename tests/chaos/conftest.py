"""A disk whose power can be cut, and the faults that this machine cannot make."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.disk import FarmDisk, disk_in
from tests.chaos.packet_loss import PacketLoss
from tests.ports import free_port


def _lacks_disk() -> str:
    with tempfile.TemporaryDirectory() as home:
        disk = disk_in(Path(home))
        disk.remove()
    return disk.lacks


# A machine that has no loop device or packet filter, or lets nobody use it, lacks nothing that the
# farm needs: its tests are left out, and not skipped, which would fail on the integration machine.
LACKS = {
    "test_power_cuts.py": _lacks_disk(),
    "test_packet_loss.py": PacketLoss(free_port()).lacks,
}
collect_ignore = [name for name, why in LACKS.items() if why]


def pytest_report_header() -> list[str]:
    return [f"{name} is left out: {why}" for name, why in LACKS.items() if why]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FarmDisk]:
    disk = disk_in(tmp_path)
    yield disk
    disk.remove()
