"""Fixtures of the tests that boot virtual machines."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from buildbot_bench.demo.cli import IMPORT
from tests.edits import Edit
from tests.fakes.vm_kernels import build, need_machine, sources

Kernels = Callable[..., Path]


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """Builds a commit's kernel, or one with edits; each is built once."""
    need_machine()
    built: dict[object, Path] = {}

    def kernel(label: str = IMPORT.label, edits: Sequence[Edit] = (), *settings: str) -> Path:
        key = (label, tuple(edits), settings)
        if key not in built:
            root = tmp_path_factory.mktemp("kernel")
            built[key] = build(root, sources(label, edits), *settings)
        return built[key]

    return kernel
