"""`bench-farm`: read the command line, then import the subcommand's module."""

import argparse
import errno
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from buildbot_bench.cli.option_values import a_path
from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.core.legible import long_line
from buildbot_bench.demo.checking import add_check, mistakes_of, tell
from buildbot_bench.demo.init.command import add_init
from buildbot_bench.demo.watching import Stopped
from buildbot_bench.installed import ShowVersion
from buildbot_bench.plugin.private_files import PRIVATE_UMASK

_WELL, _NOT_WELL = 0, 1


def add_operations(commands: Any) -> None:
    """Add the subcommands to those of bench-farm, which `argparse` made."""
    checks = commands.add_parser(
        "verify",
        help="check that the farm's tables and directories agree",
        description="Check that each boot, or run of a command, is recorded once, that each probe,"
        " search and mail has its end, that nothing is left without an owner and that no row names"
        " a missing one. The farm may run meanwhile.",
        epilog="exit status: 0 whole · 1 a violation · 2 a mistake in the request ·"
        " 4 the database does not answer",
    )
    _add_place(checks)
    checks.add_argument(
        "--idle", action="store_true", help="nothing may wait or run: what does is a violation"
    )
    checks.add_argument("--json", action="store_true", help="one JSON object")
    checks.set_defaults(command=_verify)
    doctor = commands.add_parser(
        "doctor",
        help="list what needs your attention, and what to do next",
        description="Look at disks, clocks, the database, workers, what they measured, the outbox"
        " and quarantines.",
        epilog="exit status: 0 no error (there may be warnings) · 1 an error ·"
        " 2 a mistake in the request",
    )
    _add_place(doctor)
    doctor.add_argument("--json", action="store_true", help="one JSON object")
    doctor.set_defaults(command=_doctor)
    _add_copies(commands)
    certificates = commands.add_parser(
        "certificates",
        help="make the certificates by which workers on other machines verify the master",
        description="Make an authority, unless DIR has one, and the master's certificate."
        " Workers get DIR/trust.",
    )
    certificates.add_argument("directory", type=a_path, metavar="DIR")
    certificates.add_argument(
        "hosts", nargs="+", metavar="HOST", help="a name or address that workers call the master by"
    )
    certificates.set_defaults(command=_certificates)
    taking = commands.add_parser(
        "take-kernel",
        help="take the kernel of a pkgbase repository, for searches to boot",
        description="Write the kernel that a pkgbase repository has today into DIR, named by its"
        " commit, for artefacts.prebuilt of bench.yml. Run it as often as the repository changes.",
    )
    taking.add_argument(
        "repository",
        metavar="URL",
        help="e.g. https://pkg.freebsd.org/FreeBSD:15:amd64/base_latest",
    )
    taking.add_argument("directory", type=a_path, metavar="DIR")
    taking.add_argument("--ident", default="GENERIC", help="its configuration; %(default)s")
    taking.set_defaults(command=_take_kernel)


def _add_copies(commands: Any) -> None:
    backup = commands.add_parser(
        "backup",
        help="copy the database, the settings and the secrets of a farm, as it runs",
        description="Write the database, bench.yml, master.cfg, testbeds.toml and the secrets into"
        " a new directory that only you can read, with their digests. The farm may run meanwhile."
        " A database's password is best said in BENCH_DB: others can read a command line.",
    )
    backup.add_argument("target", type=a_path, metavar="TARGET", help="a directory not there yet")
    _add_place(backup)
    backup.add_argument("--testbeds", type=a_path, metavar="FILE", help="the lab's testbeds.toml")
    backup.add_argument("--artefacts", action="store_true", help="copy the built kernels as well")
    backup.set_defaults(command=_backup)
    restoring = commands.add_parser(
        "restore",
        help="make a farm of a backup, where there is none",
        description="Make a farm's directory and database of a backup. Both must be empty.",
    )
    restoring.add_argument("backup", type=a_path, metavar="BACKUP", help="what `backup` wrote")
    restoring.add_argument("--dir", type=a_path, required=True, help="of the farm to be made")
    restoring.add_argument(
        "--db", metavar="URL", help="default: $BENCH_DB, or DIR/master/state.sqlite"
    )
    restoring.set_defaults(command=_restore)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir",
        type=a_path,
        help="the farm's directory (default: the one here or above, as `bench-farm init` wrote it, "
        "else .farm/replay)",
    )
    parser.add_argument(
        "--master", type=a_path, help="the master's directory (default: DIR/master)"
    )
    parser.add_argument(
        "--db",
        metavar="URL",
        help="default: $BENCH_DB, or what the master's environment says, or its state.sqlite",
    )
    parser.add_argument(
        "--workflow", type=a_path, metavar="FILE", help="default: $BENCH_WORKFLOW, or DIR/bench.yml"
    )
    parser.add_argument(
        "--lab",
        type=a_path,
        action="append",
        metavar="STATE",
        help="a lab worker's state, with its jobs (default: DIR/*/state)",
    )


def _certificates(options: argparse.Namespace) -> int:
    from buildbot_bench.demo.certificates import make_certificates  # noqa: PLC0415

    print(make_certificates(options.directory.resolve(), options.hosts))
    return 0


def _take_kernel(options: argparse.Namespace) -> int:
    from buildbot_bench.archives.pkgbase import take_kernel  # noqa: PLC0415

    print(take_kernel(options.repository, options.directory.resolve(), options.ident))
    return 0


def _backup(options: argparse.Namespace) -> int:
    from buildbot_bench.demo.backup import make_backup  # noqa: PLC0415
    from buildbot_bench.demo.on_disk import place_of  # noqa: PLC0415

    target = options.target.resolve()
    place = place_of(options)
    print(make_backup(place, target, artefacts=options.artefacts, testbeds=options.testbeds))
    return 0


def _restore(options: argparse.Namespace) -> int:
    from buildbot_bench.demo.backup import restore  # noqa: PLC0415
    from buildbot_bench.demo.on_disk import url_in  # noqa: PLC0415

    directory = options.dir.resolve()
    print(restore(options.backup.resolve(), directory, url_in(options.db, directory / "master")))
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from buildbot_bench.core.condition import Severity  # noqa: PLC0415
    from buildbot_bench.demo.on_disk import place_of  # noqa: PLC0415
    from buildbot_bench.demo.verifying import find_troubles  # noqa: PLC0415

    found = find_troubles(place_of(options))
    if options.json:
        print(json.dumps({"findings": [asdict(one) for one in found]}))
    else:
        for one in found:
            print(f"{one.severity}: {one.part}: {one.problem}\n    next: {one.next}")
        print(f"{len(found) or 'no'} finding{'s' if len(found) != 1 else ''}")
    return _NOT_WELL if any(one.severity is Severity.ERROR for one in found) else _WELL


def _verify(options: argparse.Namespace) -> int:
    from buildbot_bench.demo.on_disk import place_of  # noqa: PLC0415
    from buildbot_bench.demo.verifying import verify  # noqa: PLC0415

    verdict = verify(place_of(options), idle=options.idle)
    print(json.dumps(verdict.as_json()) if options.json else verdict.as_text())
    return _NOT_WELL if verdict.violations else _WELL


_USAGE, _INFRASTRUCTURE = 2, 4
# Mistakes in what was named; what else a system refuses is its own.
_OF_PATHS = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM),
    *(errno.ELOOP, errno.ENAMETOOLONG),
}
_SIGNAL = 128  # as a shell tells it
_LABS = ("replay", "vm")  # those of demo.cli
_CHANGES = ("slowdown", "drops", "batching")  # those of demo.generated_history


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
        description="Publish a bad change among innocent commits and wait for the mail about it.",
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
        help="the commit that gets the change (default: %(default)s)",
    )
    demo.add_argument(
        "--change",
        choices=_CHANGES,
        default=_CHANGES[0],
        help="what is planted: it costs throughput, the rate without loss alone, or latency alone"
        " (default: %(default)s)",
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
