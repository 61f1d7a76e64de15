"""The start of each installed command, or the name of the packages that it lacks.

bench-build and bench-lab run on the standard library; each other command needs the package's own
requirements, and some an extra of pyproject.toml. Modules that are started here import the standard
library alone, so that `--help` and `--version` work without any of these.
"""

import re
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module, metadata
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.installed import shipped, version

_PROJECT = "buildbot-bench"
_PACKAGE = "buildbot_bench"
# All of the commands have it for what cannot be done as it was asked for, now or later.
_USAGE = 2
# Before all else: the completion of a command is there whatever it lacks.
_PRINT_COMPLETION = "--print-completion"
_COMPLETIONS = {"bash": "{}", "fish": "{}.fish", "zsh": "_{}"}
_OF_ITSELF = {"-h", "--help", "--version"}
# The extra of what is required without one.
_BASE = ""
# A line of the metadata: `rich>=13`, or `psycopg[binary]>=3.1; extra == 'postgresql'`.
_REQUIRED = re.compile(r"""([\w.-]+)[^;]*(?:;\s*extra\s*==\s*["']([\w-]+)["']\s*)?""")


def start(command: str, module: str, extra: str = _BASE) -> int:
    """Run `main` of a module of this package; returns its exit status.

    What is not installed is named on stderr with the extra that has it; the status is then 2.
    """
    if sys.argv[1:] == ["--version"]:
        print(command, version())  # at once: the parsers take longer to import than all else
        return 0
    if sys.argv[1:2] == [_PRINT_COMPLETION]:
        return _print_completion(command, sys.argv[2:])
    if _OF_ITSELF.isdisjoint(sys.argv[1:]):
        needed = [name for one in dict.fromkeys((_BASE, extra)) for name in _required(one)]
        if missing := [name for name in needed if not _is_installed(name)]:
            return _refuse(command, missing, extra)
    try:
        main: Callable[[], int] = import_module(f"{_PACKAGE}.{module}").main
        return main()
    except ModuleNotFoundError as error:
        name = (error.name or str(error)).partition(".")[0]
        if name == _PACKAGE:
            raise
        return _refuse(command, [name], _extra_with(name, extra))


def _print_completion(command: str, shells: list[str]) -> int:
    """Print what a shell completes a command by; it was generated from the command's parser."""
    known = ", ".join(_COMPLETIONS)
    if len(shells) != 1 or shells[0] not in _COMPLETIONS:
        print(f"{command}: {_PRINT_COMPLETION} takes one of {known}", file=sys.stderr)
        return _USAGE
    (shell,) = shells
    try:
        path = shipped(str(Path("manual", shell, _COMPLETIONS[shell].format(command))))
    except UsageError as problem:
        print(f"{command}: {problem}", file=sys.stderr)
        return _USAGE
    print(path.read_text(encoding="utf-8"), end="")
    return 0


def _required(extra: str) -> list[str]:
    """The distributions of an extra; none where the package runs without having been installed."""
    return [name for name, found in _requirements() if found == extra]


def _extra_with(name: str, default: str) -> str:
    """The smallest extra that names a distribution, else the default."""
    extras = [extra for found, extra in _requirements() if found == name]
    return min(extras, key=lambda extra: len(_required(extra)), default=default)


def _requirements() -> list[tuple[str, str]]:
    """The names of required distributions, in order, each with its extra."""
    try:
        lines = metadata.requires(_PROJECT) or []
    except metadata.PackageNotFoundError:
        return []
    matches = (_REQUIRED.fullmatch(line) for line in sorted(lines))
    return [(match[1], match[2] or _BASE) for match in matches if match]


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _refuse(command: str, missing: list[str], extra: str) -> int:
    *others, last = missing
    names = f"{', '.join(others)} and {last}" if others else last
    what = f"'{_PROJECT}[{extra}]'" if extra else _PROJECT
    print(f"{command}: needs {names}: pip install {what}", file=sys.stderr)
    return _USAGE


bench_bisect = partial(start, "bench-bisect", "cli.bisect")
bench_compare = partial(start, "bench-compare", "cli.compare")
bench_comment = partial(start, "bench-comment", "cli.comment")
bench_farm = partial(start, "bench-farm", "demo.command", "demo")
bench_import = partial(start, "bench-import", "plugin.operations.import_command", "master")
bench_judge = partial(start, "bench-judge", "cli.judge")
bench_ministat = partial(start, "bench-ministat", "cli.ministat")
