"""The command line of bench-bisect, parsed into one request."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from buildbot_bench.cli.local_arguments import bisect_parser
from buildbot_bench.cli.options import (
    FarmCommand,
    add_farm_options,
    add_follow_and_cancel,
    add_min_effect,
    add_no_wait,
    add_priority,
    add_repository,
    add_version,
    begin_with_local,
    command_parser,
    farm_access,
    form_of,
    in_repository,
    is_local,
    known_number,
    refuse_beside_known,
    refuse_local_options,
    two_of,
)
from buildbot_bench.cli.requests import (
    Cancel,
    Follow,
    ListNewest,
    MarkSearch,
    ReleaseTestbed,
    Request,
    StartSearch,
)
from buildbot_bench.core.errors import UsageError

_DESCRIPTION = """\
Find the commit between two revisions that made a program slower or faster. With
--local it is built and run here, on this machine. Without, a farm is asked: it
builds and boots kernels, or runs commands; this command waits for the answer."""

_EPILOG = """\
examples without a farm:
  bench-bisect --local v1.0 v1.1 --build make --run ./bench
  bench-bisect --local main~50 main --run './bench.sh' --value last-number

examples on a farm:
  bench-bisect r311848 r313448 --dry-run   what would it cost?
  bench-bisect r311848 r313448             search; Ctrl-C leaves it running
  bench-bisect n245062 main --testbed apu2 --workload pf-statefull
  bench-bisect stable/14~20 stable/14      the last twenty commits of a branch
  bench-bisect --follow 7                  come back to search 7
  bench-bisect --mark 7 fixed r313448      say what became of its culprit
  bench-bisect --release apu2              end the testbed's quarantine
  id=$(bench-bisect OLD NEW --no-wait)     from a script
  bench-bisect OLD NEW --json | jq .steps

exit status:
    0  answered: what changed was found
    1  the ends do not differ
    2  the request is wrong or not allowed, or what it needs is not installed
    3  inconclusive, or cancelled
    4  the farm, its lab or the network failed
  130  interrupted; the search goes on

The answer goes to standard output, everything else to standard error."""

# These say how a search is to begin: beside --follow and its like they would be passed over.
_USUAL = ("--build", "--run", "--value", "--min-effect", "--skip", "--dry-run", "--html", "--json")
_FOR_START_ONLY = {
    "repository": "--repository",
    "testbed": "--testbed",
    "workload": "--workload",
    "min_effect": "--min-effect",
    "priority": "--priority",
    "fix": "--with",
    "dry_run": "--dry-run",
    "no_wait": "--no-wait",
}


def parse_command(argv: Sequence[str], environ: Mapping[str, str]) -> FarmCommand:
    """Raises UsageError for what is wrong; SystemExit(0) after --help and --version."""
    parser = _parser()
    refuse_local_options(argv, parser, bisect_parser())
    options = parser.parse_args(argv)
    request = _request(options)
    farm = farm_access(options, environ, starts=isinstance(request, StartSearch))
    return FarmCommand(request=request, form=form_of(options), farm=farm)


def asks_no_farm(argv: Sequence[str]) -> bool:
    """Whether a command line is one with `--local`."""
    return is_local(argv, _parser())


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "bench-bisect",
        usage="bench-bisect --local OLD NEW --run COMMAND [--build COMMAND] [options]\n"
        "       bench-bisect --local OLD NEW [--workload NAME] [options]\n"
        "       bench-bisect OLD NEW [options]\n"
        "       bench-bisect --follow ID | --cancel ID | --list [options]\n"
        "       bench-bisect --mark ID expected|noise|fixed REV|again|withdrawn [options]\n"
        "       bench-bisect --release TESTBED [--false-alarm] [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("revisions", nargs="*", metavar="OLD NEW", help=_help_on_ends())
    add_version(parser)
    _add_search_options(parser)
    _add_known_searches(parser)
    add_farm_options(parser)
    begin_with_local(parser, bisect_parser(), usual=_USUAL)
    return parser


def _help_on_ends() -> str:
    return (
        "the ends of the range, as git names them; on a farm also as r311848 (Subversion), "
        "n245062 (commit count) or stable/14-n267886 (that of a branch). NEW is itself "
        "suspected, OLD is not"
    )


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("on a farm: the search")
    add_repository(group)
    group.add_argument("--testbed", metavar="T", help="where to measure (default: the farm's)")
    group.add_argument("--workload", metavar="W", help="what to measure (default: the farm's)")
    add_min_effect(group)
    add_priority(group)
    group.add_argument(
        "--with",
        dest="fix",
        metavar="REV",
        help="a commit to apply to each revision that it fits and that lacks it",
    )
    group.add_argument(
        "-n", "--dry-run", action="store_true", help="print the forecast and start nothing"
    )
    add_no_wait(group, "search")
    group.add_argument("--json", action="store_true", help="print the answer as one JSON object")


def _add_known_searches(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("on a farm: known searches")
    kinds = group.add_mutually_exclusive_group()
    add_follow_and_cancel(kinds, "search", "bench-bisect")
    kinds.add_argument(
        "--mark",
        metavar="ID",
        type=known_number("search", "bench-bisect"),
        help="say of its report that the change was expected, is noise, was fixed by a revision, "
        "or is to be measured again; withdrawn takes that back",
    )
    kinds.add_argument("--list", action="store_true", help="show the newest ones")
    kinds.add_argument("--release", metavar="TESTBED", help="end a testbed's quarantine instead")
    group.add_argument(
        "--false-alarm",
        action="store_true",
        help="with --release: nothing was wrong, the measurements in quarantine count",
    )


def _request(options: argparse.Namespace) -> Request:
    if options.false_alarm and options.release is None:
        raise UsageError("--false-alarm goes with --release TESTBED only")
    named = (options.follow, options.cancel, options.mark, options.release)
    if not options.list and all(one is None for one in named):
        return _start(options)
    refuse_beside_known(options, _FOR_START_ONLY, ends="OLD NEW")
    if options.mark is not None:
        return _mark(options)
    if options.revisions:
        raise UsageError("--follow, --cancel, --release and --list take no revisions")
    if options.release is not None:
        return ReleaseTestbed(testbed=options.release, false_alarm=options.false_alarm)
    if options.follow is not None:
        return Follow(number=options.follow)
    if options.cancel is not None:
        return Cancel(number=options.cancel)
    return ListNewest()


def _mark(options: argparse.Namespace) -> MarkSearch:
    if len(options.revisions) not in {1, 2}:
        raise UsageError(
            "--mark takes what the report was, and the revision that fixed it",
            hint="as in `bench-bisect --mark 7 noise` or `bench-bisect --mark 7 fixed r313448`",
        )
    kind, *fixes = options.revisions
    return MarkSearch(search_id=options.mark, kind=kind, revision=fixes[0] if fixes else None)


def _start(options: argparse.Namespace) -> StartSearch:
    example = "bench-bisect --local v1.0 v1.1 --run ./bench`, or on a farm `bench-bisect r1 r9"
    ends = two_of(options.revisions, sort="revisions", what="search", example=example)
    old, new = (in_repository(options.repository, end) for end in ends)
    return StartSearch(
        old=old,
        new=new,
        testbed=options.testbed,
        workload=options.workload,
        min_effect=options.min_effect,
        fix=options.fix,
        priority=options.priority,
        dry_run=options.dry_run,
        wait=not options.no_wait,
    )
