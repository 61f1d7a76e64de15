"""`bench-farm`: read the command line, then import the subcommand's module."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence

from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.core.legible import long_line
from buildbot_bench.demo.checking import add_check, mistakes_of, tell
from buildbot_bench.demo.init.command import add_init
from buildbot_bench.demo.operations import add_operations
from buildbot_bench.demo.paths import a_path
from buildbot_bench.demo.watching import Stopped
from buildbot_bench.plugin.private_files import PRIVATE_UMASK
from buildbot_bench.version import ShowVersion

_USAGE, _INFRASTRUCTURE = 2, 4
# Mistakes in what was named; what else a system refuses is its own.
_OF_PATHS = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM),
    *(errno.ELOOP, errno.ENAMETOOLONG),
}
_SIGNAL = 128  # as a shell tells it
_LABS = ("replay", "vm")  # those of demo.cli


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    os.umask(PRIVATE_UMASK)
    try:
        status: int = options.command(options)
    except Stopped as stopped:
        return _SIGNAL + stopped.signum
    except UsageError as problem:
        print(f"bench-farm: {problem}", file=sys.stderr)
        return _USAGE
    except BenchError as problem:
        print(f"bench-farm: {problem}", file=sys.stderr)
        return _INFRASTRUCTURE
    except OSError as problem:
        told = long_line(str(problem))
        print(f"bench-farm: {told}; see the path, its rights and its disk", file=sys.stderr)
        return _USAGE if problem.errno in _OF_PATHS else _INFRASTRUCTURE
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench-farm",
        description="A whole farm on this machine: master, builder worker and lab worker.",
    )
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run", help="keep a farm running until Ctrl-C", description="Keep a farm until Ctrl-C."
    )
    what = run.add_mutually_exclusive_group()
    what.add_argument("--workflow", type=a_path, metavar="FILE", help="a bench.yml of your own")
    what.add_argument(
        "--lab",
        choices=_LABS,
        default=_LABS[0],
        help="recorded measurements of an APU2, or virtual machines (default: %(default)s)",
    )
    run.add_argument("--dir", type=a_path, help="default: .farm/LAB")
    _add_ports(run)
    run.add_argument("--db", default="sqlite:///state.sqlite", help="default: %(default)s")
    run.set_defaults(command=_run)
    demo = commands.add_parser(
        "demo",
        help="see a regression arrive as commits and leave as a mail",
        description="Publish a slowdown among innocent commits and wait for the mail about it.",
    )
    _add_ports(demo)
    demo.add_argument(
        "--expect",
        default="r311849",
        metavar="REVISION",
        help="the culprit that the mail must name (default: %(default)s)",
    )
    demo.add_argument(
        "--plant",
        default="r311849",
        metavar="REVISION",
        help="the commit that gets the slowdown (default: %(default)s)",
    )
    demo.set_defaults(command=_demo)
    add_init(commands)
    add_check(commands)
    add_operations(commands)
    return parser


def _add_ports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8010, help="of the pages; default: %(default)s")
    parser.add_argument("--pb-port", type=int, default=9989, help="of the workers; %(default)s")


def _run(options: argparse.Namespace) -> int:
    """Refuse a wrong bench.yml at once: what a farm consists of takes seconds to import."""
    if options.workflow and (mistakes := mistakes_of(options.workflow)):
        return tell(mistakes)
    from buildbot_bench.demo import cli  # noqa: PLC0415 - not for --help

    return cli.run(options)


def _demo(options: argparse.Namespace) -> int:
    from buildbot_bench.demo import cli  # noqa: PLC0415 - not for --help

    return cli.demo(options)
