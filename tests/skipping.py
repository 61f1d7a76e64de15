"""The hook that makes errors of skipped tests where CI=true.

A CI machine has all that the tests need; a skip there would hide a missing test.
"""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _heeded((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _heeded((yield))


def _heeded(report: Report) -> Report:
    """The report, failed if it was skipped; what is expected to fail is no skip."""
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason}\nNo test may be skipped here: CI=true says that nothing lacks."
    return report
