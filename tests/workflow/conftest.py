"""Fixtures that read a text as bench.yml, or give the complaints about it line by line."""

import re
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.workflow.load import load
from buildbot_bench.workflow.model import Workflow
from tests.workflow.example import Complaints, Loader

_COLUMN = re.compile(r"^(bench\.yml:\d+):\d+:")


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loader:
    monkeypatch.chdir(tmp_path)

    def load_text(text: str) -> Workflow:
        Path("bench.yml").write_text(text, encoding="utf-8")
        return load("bench.yml")

    return load_text


@pytest.fixture
def located(read: Loader) -> Complaints:
    """Complaints as they are printed: FILE:LINE:COLUMN: and what is wrong."""

    def refused(text: str) -> list[str]:
        with pytest.raises(UsageError) as error:
            read(text)
        return error.value.message.splitlines()

    return refused


@pytest.fixture
def complaints(located: Complaints) -> Complaints:
    """Complaints without their columns, which test_workflow_places looks at."""
    return lambda text: [_COLUMN.sub(r"\1:", line) for line in located(text)]
