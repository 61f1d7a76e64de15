"""A testbed of stand-ins behind real sshd processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.lab_host.bench import MachineLab
from tests.fakes.lab_host.machines import SSHD


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[MachineLab]:
    if SSHD is None:
        pytest.skip("there is no sshd here: install openssh-server")
    testbed = MachineLab(tmp_path / "lab")
    try:
        yield testbed
    finally:
        testbed.close()
