"""Reads the command line of a search or comparison without a farm; it does nothing about it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.cli.options import add_version, command_parser, duration_s, fraction
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.limits import GIB, MIB
from buildbot_bench.lab.command.settings import CommandWorkload, ValueTable, words_of

_DEFAULT_MIN_EFFECT = 0.02
_DEFAULT_CACHE = 8 * GIB
_NAME_LENGTH = 24
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([MG])")
_SIZES = {"M": MIB, "G": GIB}
UNIT = "units"
"""What a value is in that has no unit of its own, unless --unit says it."""

_MEASURING = """\
values:
  wall, user             seconds that the command takes (default: wall); less is better
  instructions           counted by perf or valgrind; less is better
  last-number            the last number that it prints; more is better
  json:results[0].mean   a number in the JSON that it prints
  'regex:speed: ([\\d.]+)'   the number in the parentheses
  hyperfine, …           what a known tool prints, see docs/local.md

exit status of a build or run:
  125   the revision cannot be tested and is stepped around, as for `git bisect run`
  126, 127   the command itself is wrong; anything else is the revision's failure
"""

BISECT_EPILOG = f"""\
examples:
  bench-bisect --local v1.9.4 v1.10.0 --build 'make -j4 lib' --run './bench' --value last-number
  bench-bisect --local main~50 main --build make --run './parse big.json' --min-effect 1%
  bench-bisect --local v2 HEAD --run 'python3 bench.py' --value instructions

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

{_MEASURING}
exit status:
    0  answered: a difference is proven, or is not
    2  the command line is wrong
    3  a revision cannot be tested
    4  the machine or the command failed
  130  interrupted
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalOptions:
    """What a person asks for; `typed` are the options that a command to repeat it needs.

    `form` is text, markdown or json; `html` a file to write beside it. `most_bytes` are for kept
    builds; `ahead` builds are made beside the runs.
    """

    revisions: tuple[str, ...]
    repository: Path
    build: str
    artefacts: tuple[str, ...]
    fix: str | None
    workload: CommandWorkload
    name: str
    min_effect: float
    skip: tuple[str, ...]
    ahead: int
    build_timeout_s: float
    most_bytes: int
    form: str
    html: Path | None
    typed: tuple[str, ...]
    iterations: int = 0
    images: int = 0


def is_local(argv: Sequence[str]) -> bool:
    """Whether a command line asks for no farm; what follows an option is not looked into."""
    return "--local" in argv


def parse_local_bisect(argv: Sequence[str]) -> LocalOptions:
    """What is asked; SystemExit(0) after --help and --version.

    Raises:
        UsageError: What is given is wrong.
    """
    parser = command_parser(
        "bench-bisect --local",
        usage="bench-bisect --local OLD NEW --run COMMAND [--build COMMAND] [options]",
        description="Find the commit between two revisions that made a command slower or faster:\n"
        "builds and runs what it needs, in the git repository here, without a farm.",
        epilog=BISECT_EPILOG,
    )
    parser.add_argument("revisions", nargs="*", metavar="OLD NEW", help="as git names them")
    _add_options(parser)
    group = parser.add_argument_group("the search")
    group.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="REV",
        help="do not measure it, or those of A..B; may be repeated",
    )
    group.add_argument(
        "--first-parent",
        action="store_true",
        help="merges count as one commit each: so it is always",
    )
    given = parser.parse_args(argv)
    if len(given.revisions) != 2:
        raise UsageError(
            f"a search takes two revisions, {len(given.revisions)} given",
            hint="as in `bench-bisect --local v1.0 v1.1 --build make --run ./bench`",
        )
    return _options(given, argv)


def parse_local_compare(argv: Sequence[str], *, images: int) -> LocalOptions:
    """What is asked; SystemExit(0) after --help and --version.

    `images` is how many of each there may be at most, unless it is said.
    """
    parser = command_parser(
        "bench-compare --local",
        usage="bench-compare --local BASE NEW [NEW ...] --run COMMAND [--build COMMAND] [options]",
        description="Compare revisions of the git repository here by what a command takes or\n"
        "prints, without a farm. Runs alternate: A B B A ..., A B C C B A ...",
        epilog=COMPARE_EPILOG,
    )
    parser.add_argument("revisions", nargs="*", metavar="REV", help="as git names them")
    _add_options(parser)
    group = parser.add_argument_group("the comparison")
    group.add_argument(
        "-n",
        "--iterations",
        metavar="N",
        type=_positive,
        default=5,
        help="runs of each (default 5)",
    )
    group.add_argument(
        "--images",
        metavar="N",
        type=_positive,
        default=images,
        help=f"builds of each at most, where the build heeds BENCH_IMAGE (default {images})",
    )
    return _options(parser.parse_args(argv), argv)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_version(parser)
    parser.add_argument("--local", action="store_true", help=argparse.SUPPRESS)
    group = parser.add_argument_group("what is built and measured")
    group.add_argument("--build", default="", metavar="COMMAND", help="for sh, in a fresh worktree")
    group.add_argument("--run", metavar="COMMAND", help="words, as a shell splits them")
    group.add_argument("--shell", action="store_true", help="give --run to sh")
    group.add_argument("--value", default="wall", metavar="V", help="what is measured: see below")
    group.add_argument("--unit", metavar="U", help="of the value, as MB/s")
    better = group.add_mutually_exclusive_group()
    better.add_argument("--lower-is-better", action="store_true")
    better.add_argument("--higher-is-better", action="store_true")
    group.add_argument("--exact", action="store_true", help="the value is counted, and repeats")
    group.add_argument(
        "--artefact",
        action="append",
        default=[],
        metavar="PATH",
        help="what the run needs of what is built, a pattern (default: all); may be repeated",
    )
    group.add_argument("--with", dest="fix", metavar="REV", help="a commit to apply where it fits")
    group.add_argument("--warm-up", type=int, default=0, metavar="N", help="runs not counted")
    group.add_argument("--cpus", type=_cpus, default=(), metavar="N,M", help="pin the run to them")
    group.add_argument("--timeout", type=duration_s, default=600.0, help="of a run (default 10m)")
    group.add_argument("--build-timeout", type=duration_s, default=3600.0, help="(default 1h)")
    group.add_argument(
        "--min-effect",
        metavar="E",
        type=fraction,
        default=_DEFAULT_MIN_EFFECT,
        help="smallest change that matters, as 2%% or 0.02 (default 2%%)",
    )
    group = parser.add_argument_group("this machine")
    group.add_argument("--repository", metavar="DIR", type=Path, default=Path(), help="(default .)")
    group.add_argument(
        "--jobs",
        metavar="N",
        type=_positive,
        default=0,
        help="build N ahead while one measures, on a machine with processors to spare",
    )
    group.add_argument(
        "--cache",
        metavar="SIZE",
        type=_size,
        default=_DEFAULT_CACHE,
        help="for builds that are kept, as 500M or 8G (default 8G)",
    )
    group = parser.add_argument_group("the answer")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="for a pull request")
    form.add_argument("--json", action="store_true", help="one JSON object")
    group.add_argument("--html", metavar="FILE", type=Path, help="also as one page with its plots")


def _options(given: argparse.Namespace, argv: Sequence[str]) -> LocalOptions:
    if not given.run:
        raise UsageError(
            "--run is missing: the command that is measured",
            hint="as in --run './bench --quick', with --value for what it prints",
        )
    workload = _workload(given)
    return LocalOptions(
        revisions=tuple(given.revisions),
        repository=given.repository,
        build=given.build,
        artefacts=tuple(given.artefact),
        fix=given.fix,
        workload=workload,
        name=_name(workload),
        min_effect=given.min_effect,
        skip=tuple(getattr(given, "skip", ())),
        ahead=given.jobs,
        build_timeout_s=given.build_timeout,
        most_bytes=given.cache,
        form="json" if given.json else "markdown" if given.markdown else "text",
        html=given.html,
        typed=_typed(given, argv),
        iterations=getattr(given, "iterations", 0),
        images=getattr(given, "images", 0),
    )


def _workload(given: argparse.Namespace) -> CommandWorkload:
    value = _value(given.value)
    higher = True if given.higher_is_better else False if given.lower_is_better else None
    own = isinstance(value, str) and value != "last-number"
    return CommandWorkload(
        run=given.run,
        value=value,
        unit=given.unit or ("" if own else UNIT),
        higher_is_better=higher,
        exact=True if given.exact else None,
        shell=given.shell,
        timeout=given.timeout,
        cpus=given.cpus,
        warm_up=given.warm_up,
    )


def _value(text: str) -> str | ValueTable:
    kind, colon, rest = text.partition(":")
    if colon and kind == "json":
        return ValueTable(json=rest)
    return ValueTable(regex=rest) if colon and kind == "regex" else text


def _name(workload: CommandWorkload) -> str:
    """What a report calls the workload: the program that is run."""
    words = words_of(workload.run, shell=workload.shell)
    first = words[-1].split()[0] if workload.shell else words[0]
    return Path(first).name[:_NAME_LENGTH] or "run"


def _typed(given: argparse.Namespace, argv: Sequence[str]) -> tuple[str, ...]:
    """The arguments without the revisions, and without what says where the answer goes."""
    left, skipped = list(argv), {*given.revisions, "--local", "--json", "--markdown"}
    kept: list[str] = []
    words = iter(left)
    revisions = list(given.revisions)
    for word in words:
        if word in revisions:
            revisions.remove(word)
        elif word == "--html":
            next(words, None)
        elif word not in skipped and not word.startswith("--html="):
            kept.append(word)
    return tuple(kept)


def _positive(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 9999")
    return int(text)


def _cpus(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d{1,4}(,\d{1,4})*", text):
        raise argparse.ArgumentTypeError(f"{text!r} names no processors; write 2 or 2,3")
    return tuple(map(int, text.split(",")))


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 500M or 8G")
    return int(float(match[1]) * _SIZES[match[2]])
