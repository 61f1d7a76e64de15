"""The HTML page of a local search or comparison, with its plots."""

from importlib.util import find_spec
from pathlib import Path

from buildbot_bench.core.compare.model import ComparisonReport
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.report.model import Report


def check_page(path: Path) -> None:
    """See, before a long search, that the page can be written in the end."""
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--html {path}: there is no such directory", hint="make it first")
    if find_spec("matplotlib") is None:
        raise UsageError(
            "--html draws with matplotlib, which is not installed", hint="pip install matplotlib"
        )


def write_page(path: Path, report: Report | ComparisonReport) -> None:
    """Write it."""
    # They need matplotlib, and --local alone does not.
    from buildbot_bench.render.html import comparison_page, report_page  # noqa: PLC0415

    page = comparison_page(report) if isinstance(report, ComparisonReport) else report_page(report)
    write_text(path, page)


def write_text(path: Path, page: str) -> None:
    """Write a page that is made."""
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InfraError(f"{path} cannot be written: {error}", hint="name another file") from error
