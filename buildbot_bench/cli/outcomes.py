"""An outcome beside a command's answer: its HTML page, its words for CI, a failure's output."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from buildbot_bench.cli.console import ExitStatus, say
from buildbot_bench.core.compare.model import ComparisonReport
from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.core.legible import long_line, several_lines, shorten
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


# Workflow commands for GitHub Actions, "Setting a warning message": what ends or parts a command.
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})
# GITHUB_STEP_SUMMARY is refused whole when it is larger.
_MOST_BYTES = 1000 * 1024
DOTENV = "bench.env"
"""What a GitLab job names at `artifacts:reports:dotenv`, relative to its project's directory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CiOutcome:
    """What came out: lines for `title` and `message`, the report, values; whether it `is_bad`."""

    title: str
    message: str
    markdown: str
    is_bad: bool
    outputs: Mapping[str, str]


def outcome_of(report: Report, markdown: str) -> CiOutcome:
    """What a search came to."""
    step = report.headline
    outputs = {"kind": report.kind.value}
    if step is not None:
        outputs |= {
            "culprit": step.suspects[-1].sha,
            "effect": f"{step.effect:.6g}",
            "probability": f"{step.probability:.6g}",
        }
    return CiOutcome(
        title=report.subject,
        message=" ".join(report.summary),
        markdown=markdown,
        is_bad=step is not None and step.regression,
        outputs=outputs,
    )


def tell_ci(outcome: CiOutcome, environ: Mapping[str, str]) -> None:
    """Add the report to the job's summary and annotate it, as far as a CI names places for that.

    What cannot be written is said, and changes no answer.
    """
    if environ.get("GITHUB_ACTIONS") == "true":
        kind = "warning" if outcome.is_bad else "notice"
        title = long_line(outcome.title).translate(_IN_PROPERTY)
        # Both streams are read for commands; standard output has the answer alone.
        say(f"\n::{kind} title={title}::{long_line(outcome.message).translate(_IN_MESSAGE)}")
    values = "".join(f"{name}={long_line(value)}\n" for name, value in outcome.outputs.items())
    written = {"GITHUB_STEP_SUMMARY": outcome.markdown, "GITHUB_OUTPUT": values}
    for name, text in written.items():
        if path := environ.get(name):
            _write(Path(path), text, os.O_APPEND)
    if environ.get("GITLAB_CI") == "true" and (project := environ.get("CI_PROJECT_DIR")):
        # Variables for later jobs of the pipeline: `BENCH_CULPRIT=…`.
        named = {f"BENCH_{name.upper()}": value for name, value in outcome.outputs.items()}
        values = "".join(f"{name}={long_line(value)}\n" for name, value in named.items())
        _write(Path(project) / DOTENV, values, os.O_TRUNC)


def _write(path: Path, text: str, how: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode()[:_MOST_BYTES])
    except OSError as error:
        say(f"{path} cannot be written: {error}")


_MOST_COLUMNS = 200  # of a line of a command's output


def told_in_lines(name: str, work: Callable[[], int]) -> int:
    """Return the exit status of `work`; print an error with the output behind it line by line."""
    try:
        return work()
    except BenchError as error:
        if "\n" not in error.message:
            raise
        say_with_output(name, error, error.hint or "correct what the last lines say, and try again")
        return ExitStatus.USAGE if isinstance(error, UsageError) else ExitStatus.INFRASTRUCTURE


def say_with_output(name: str, error: BenchError, next_step: str) -> None:
    """An error with the output behind it, each of its lines as long as a person reads."""
    first, _, output = error.message.partition("\n")
    say(several_lines(f"{name}: {first}"))
    for line in output.splitlines():
        say(f"  | {shorten(several_lines(line), _MOST_COLUMNS)}")
    say(f"{name}: {next_step}")
