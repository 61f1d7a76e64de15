"""The command lines and help of searches and comparisons without a farm."""

import argparse
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from buildbot_bench.cli.option_table import LOCAL_BISECT, LOCAL_COMPARE, RUN, WORKFLOW
from buildbot_bench.cli.option_values import labels_of
from buildbot_bench.cli.options import CommandLine, form_of
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.limits import MIB
from buildbot_bench.lab.command.settings import (
    CPU,
    LAST_NUMBER,
    PRESETS,
    CommandWorkload,
    ValueTable,
    preset_of,
)
from buildbot_bench.local.recipe import BuildStep

_TOOLS = "\n".join(f"    {name}  {preset.needs}".rstrip() for name, preset in PRESETS.items())
_MEASURING = f"""\
values:
  cpu                    processor time, user and system, in seconds (default); less is better
  wall, user             seconds by the clock, or of user time alone, which clocks tell coarsely
  instructions           counted by perf or valgrind; less is better
  last-number            the last number that it prints; more is better
  json:results[0].mean   a number in the JSON that it prints
  'regex:speed: ([\\d.]+)'   the number in the parentheses
  all                    each value that a suite prints, for bench-compare
  go-bench:NAME          the one with this name
  hyperfine, …           what a known tool prints, with the options that it needs:
{_TOOLS}

without --build and --run:
  bench.yml in the repository's top says how to build, and a testbed of the driver `command` in
  the testbeds.toml beside it how to measure: --workload names one of several

exit status of a build or run:
  125   the revision cannot be tested and is stepped around, as for `git bisect run`
  126, 127   the command itself is wrong; anything else is the revision's failure
"""

BISECT_EPILOG = f"""\
examples:
  bench-bisect --local v1.9.4 v1.10.0 --build 'make -j4 lib' --run './bench' --value last-number
  bench-bisect --local main~50 main --build make --run './parse big.json' --min-effect 1%
  bench-bisect --local v2 HEAD --run 'python3 bench.py' --value instructions
  bench-bisect --local v2 HEAD --workload compress       as bench.yml builds and measures

Ctrl-C or a crash loses nothing but the run under way: the same command goes on.

{_MEASURING}
exit status:
    0  answered: what changed was found
    1  the ends do not differ
    2  the command line is wrong, or an end of the range does not build or run
    3  inconclusive
    4  the machine or the command failed
  130  interrupted
"""

COMPARE_EPILOG = f"""\
examples:
  bench-compare --local main my-branch --build make --run ./bench --value last-number
  bench-compare --local v1.0 v1.1 v1.2 --build make --run './bench big' -n 10
  bench-compare --local HEAD . --build make --run ./bench      what is not committed yet

{_MEASURING}
exit status:
    0  answered: a difference is proven, or is not
    1  with --fail-on regression: one is worse than the base
    2  the command line is wrong
    3  a revision cannot be tested
    4  the machine or the command failed
  130  interrupted
"""


DEFAULT_MIN_EFFECT, DEFAULT_ERROR = 0.02, 0.01
_DEFAULT_RUN_S, _DEFAULT_BUILD_S = 600.0, 3600.0
_DEFAULT_DISK = 4096 * MIB
# An option, a number, a variable, a redirection; and what only starts the program that is meant.
_NO_PROGRAM = re.compile(r"-.*|[\d.,:]*|\w+=.*|\d*[<>].*")
_LAUNCHER = re.compile(
    r"(?:ba|da|k|z)?sh|python[\d.]*|perl|ruby|node|env|exec|command|time|nice|timeout|taskset"
)
_NAME_LENGTH = 24
UNIT = "units"
"""What a value is in that has no unit of its own, unless --unit says it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalTask:
    """How revisions are built, what is kept of it, and what is run; `name` is the workload's.

    `min_effect` and `error` are fractions.
    """

    steps: tuple[BuildStep, ...]
    workload: CommandWorkload
    name: str
    artefacts: tuple[str, ...] = ()
    upload: str = ""
    prebuilt: str = ""
    min_effect: float = DEFAULT_MIN_EFFECT
    error: float = DEFAULT_ERROR
    build_timeout_s: float = _DEFAULT_BUILD_S


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowChoice:
    """What of a workflow is meant; None is what it says itself, and where it lies by custom."""

    workflow: Path | None = None
    testbeds: Path | None = None
    testbed: str | None = None
    workload: str | None = None
    min_effect: float | None = None
    build_timeout_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalOptions:
    """What a person asks for; `typed` are the options that a command to repeat it needs.

    What failed at the revisions `again` is tried again. With `keep_builds` those of the last
    command that only built otherwise stay valid. `form` is text, markdown, csv or json; `html` a
    file to write beside it. With `dry_run` nothing is built or run. `most_bytes` are for kept
    builds; `ahead` builds are made beside the runs. `budget_s` is when to end.
    """

    revisions: tuple[str, ...]
    repository: Path
    task: LocalTask | WorkflowChoice
    fix: str | None
    skip: tuple[str, ...]
    ahead: int
    most_bytes: int
    form: str
    html: Path | None
    typed: tuple[str, ...]
    iterations: int = 0
    images: int = 0
    dry_run: bool = False
    again: tuple[str, ...] = ()
    keep_builds: bool = False
    first_parent: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    fail_on: str | None = None
    against_itself: bool = False
    budget_s: float | None = None


BISECT_HERE = CommandLine(
    name="bench-bisect --local",
    usage="bench-bisect --local OLD NEW --run COMMAND [--build COMMAND] [options]\n"
    "       bench-bisect --local OLD NEW [--workload NAME] [options]",
    description="Find the commit between two revisions that made a command slower or faster:\n"
    "builds and runs what it needs, in the git repository here, without a farm.",
    epilog=BISECT_EPILOG,
    operands="revisions",
    called="OLD NEW",
    operands_help="as git names them; . is the working tree",
    sections=LOCAL_BISECT,
)
COMPARE_HERE = CommandLine(
    name="bench-compare --local",
    usage="bench-compare --local BASE NEW [NEW ...] --run COMMAND [--build COMMAND] [options]\n"
    "       bench-compare --local BASE NEW [NEW ...] [--workload NAME] [options]\n"
    "       bench-compare --local --aa REV --run COMMAND [--build COMMAND] [options]",
    description="Compare revisions of the git repository here by what a command takes or\n"
    "prints, without a farm. Runs alternate: A B B A ..., A B C C B A ...",
    epilog=COMPARE_EPILOG,
    operands="revisions",
    called="REV",
    operands_help="as git names them; . is the working tree",
    sections=LOCAL_COMPARE,
)


def parse_local_bisect(argv: Sequence[str]) -> LocalOptions:
    """What is asked; SystemExit(0) after --help and --version."""
    given = BISECT_HERE.parser().parse_args(argv)
    if len(given.revisions) != 2:
        raise UsageError(
            f"a search takes two revisions, {len(given.revisions)} given",
            hint="as in `bench-bisect --local v1.0 v1.1 --build make --run ./bench`",
        )
    return _options(BISECT_HERE, given, argv)


def parse_local_compare(argv: Sequence[str]) -> LocalOptions:
    """What is asked; SystemExit(0) after --help and --version."""
    return _options(COMPARE_HERE, COMPARE_HERE.parser().parse_args(argv), argv)


def _options(line: CommandLine, given: argparse.Namespace, argv: Sequence[str]) -> LocalOptions:
    several = {name: tuple(getattr(given, name, ())) for name in ("revisions", "skip", "again")}
    return LocalOptions(
        **shared(LocalOptions, given) | several,
        task=_task(line, given) if given.run or given.build else _choice(line, given),
        ahead=given.jobs,
        most_bytes=given.cache,
        form=form_of(given),
        typed=_typed(line, given, argv),
        labels=labels_of(getattr(given, "label", ())),
        against_itself=getattr(given, "aa", False),
        budget_s=given.budget,
    )


def _task(line: CommandLine, given: argparse.Namespace) -> LocalTask:
    if not given.run:
        raise UsageError(
            "--run is missing: the command that is measured",
            hint="as in --run './bench --quick', with --value for what it prints",
        )
    line.refuse(given, WORKFLOW, "goes without --build and --run", hint="see `--help`")
    workload = _workload(given)
    return LocalTask(
        steps=(BuildStep(script=given.build),) if given.build else (),
        artefacts=tuple(given.artefact),
        prebuilt=getattr(given, "prebuilt", None) or "",
        workload=workload,
        name=_program(given.run),
        min_effect=given.min_effect or DEFAULT_MIN_EFFECT,
        build_timeout_s=_DEFAULT_BUILD_S if given.build_timeout is None else given.build_timeout,
    )


def _choice(line: CommandLine, given: argparse.Namespace) -> WorkflowChoice:
    why = "goes with --run: of a workload in bench.yml its testbed says it"
    line.refuse(given, RUN, why, hint="see `--help`")
    return WorkflowChoice(**shared(WorkflowChoice, given), build_timeout_s=given.build_timeout)


def _workload(given: argparse.Namespace) -> CommandWorkload:
    value = _value(given.value or CPU)
    _check_needs(given.run, value)
    higher = True if given.higher_is_better else False if given.lower_is_better else None
    own = isinstance(value, str) and value != LAST_NUMBER
    return CommandWorkload(
        run=given.run,
        value=value,
        unit=given.unit or ("" if own else UNIT),
        higher_is_better=higher,
        exact=True if given.exact else None,
        timeout=_DEFAULT_RUN_S if given.timeout is None else given.timeout,
        cpus=given.cpus or (),
        warm_up=given.warm_up or 0,
        disk_mib=max(1, (_DEFAULT_DISK if given.disk is None else given.disk) // MIB),
    )


def _check_needs(run: str, value: str | ValueTable) -> None:
    """See, before a long build, that a tool that is run prints what is to be read."""
    preset = PRESETS.get(preset_of(value))
    if preset is None or _program(run) != preset_of(value):
        return
    option = re.split("[ =]", preset.needs)[0]
    if option not in run:
        raise UsageError(
            f"--value {value}: its value is not in what --run prints without {option}",
            hint=f"write it as {value} {preset.needs} ...",
        )


def _value(text: str) -> str | ValueTable:
    kind, colon, rest = text.partition(":")
    if colon and kind == "json":
        return ValueTable(json=rest)
    return ValueTable(regex=rest) if colon and kind == "regex" else text


def _program(run: str) -> str:
    """The program or script that is run: of a line for sh the last one, of a pipe the first."""
    last = re.split(r"&&|\|\||;", run.rstrip("; \t"))[-1]
    try:
        words = shlex.split(last.partition("|")[0])
    except ValueError:
        words = last.split()
    names = [Path(word).name for word in words if not _NO_PROGRAM.fullmatch(word)]
    told = [name for name in names if not _LAUNCHER.fullmatch(name)]
    return one_line((told or names or ["run"])[0], columns=_NAME_LENGTH)


def _typed(line: CommandLine, given: argparse.Namespace, argv: Sequence[str]) -> tuple[str, ...]:
    """The arguments to repeat it: no revisions, nothing of where the answer goes, of this once."""
    once = {flag: option for option in line.options() if option.once for flag in option.flags}
    kept: list[str] = []
    words = iter(argv)
    revisions = list(given.revisions)
    for word in words:
        option = once.get(word.partition("=")[0])
        if word in revisions:
            revisions.remove(word)
        elif option is not None and option.has_value and "=" not in word:
            next(words, None)
        elif option is None and word != "--":
            kept.append(word)
    return tuple(kept)
