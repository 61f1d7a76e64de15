"""`bench-bisect`: its command line, read before the module is imported that answers it."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from buildbot_bench.api.requests import MarkAsked, ReleaseAsked, SearchQuestion
from buildbot_bench.cli.console import entry_point
from buildbot_bench.cli.farm_access import FarmCommand, action_of, farm_access, in_repository
from buildbot_bench.cli.local_arguments import BISECT_HERE, parse_local_bisect
from buildbot_bench.cli.option_table import BISECT, START
from buildbot_bench.cli.options import CommandLine, TwoWays, form_of
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.core.variant import parse_tunable

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

COMMAND = TwoWays(
    farm=CommandLine(
        name="bench-bisect",
        usage="bench-bisect --local OLD NEW --run COMMAND [--build COMMAND] [options]\n"
        "       bench-bisect --local OLD NEW [--workload NAME] [options]\n"
        "       bench-bisect OLD NEW [options]\n"
        "       bench-bisect --follow ID | --cancel ID | --list [options]\n"
        "       bench-bisect --mark ID expected|noise|fixed REV|again|withdrawn [options]\n"
        "       bench-bisect --release TESTBED [--false-alarm] [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        operands="revisions",
        called="OLD NEW",
        operands_help="the ends of the range, as git names them; on a farm also as r311848 "
        "(Subversion), n245062 (commit count) or stable/14-n267886 (that of a branch). NEW is "
        "itself suspected, OLD is not",
        sections=BISECT,
    ),
    local=BISECT_HERE,
    usual=(
        *("--build", "--run", "--value", "--min-effect"),
        *("--skip", "--dry-run", "--html", "--json"),
    ),
)


def parse_bisect(argv: Sequence[str], environ: Mapping[str, str]) -> FarmCommand:
    """Fails as `TwoWays.parse` does."""
    given = COMMAND.parse(argv)
    action = action_of(given, *_KNOWN)
    return FarmCommand(
        action=action,
        number=given.follow or given.cancel or given.mark or 0,
        testbed=given.release or "",
        said=_said(given, action),
        dry_run=given.dry_run,
        wait=not given.no_wait,
        form=form_of(given),
        farm=farm_access(given, environ, action),
    )


_KNOWN = ("list", "follow", "cancel", "mark", "release")


def _said(
    given: argparse.Namespace, action: str
) -> SearchQuestion | MarkAsked | ReleaseAsked | None:
    if given.false_alarm and action != "release":
        raise UsageError("--false-alarm goes with --release TESTBED only")
    if action == "start":
        return _question(given)
    COMMAND.farm.refuse(given, START, "goes with OLD NEW only")
    if action == "mark":
        return _mark(given)
    if given.revisions:
        raise UsageError("--follow, --cancel, --release and --list take no revisions")
    return ReleaseAsked(false_alarm=given.false_alarm) if action == "release" else None


def _mark(given: argparse.Namespace) -> MarkAsked:
    if len(given.revisions) not in {1, 2}:
        raise UsageError(
            "--mark takes what the report was, and the revision that fixed it",
            hint="as in `bench-bisect --mark 7 noise` or `bench-bisect --mark 7 fixed r313448`",
        )
    kind, *fixes = given.revisions
    return MarkAsked(mark=kind, revision="".join(fixes))


def _question(given: argparse.Namespace) -> SearchQuestion:
    if len(given.revisions) != 2:
        raise UsageError(
            f"a search takes two revisions, {len(given.revisions)} given",
            hint="as in `bench-bisect --local v1.0 v1.1 --run ./bench`, or on a farm "
            "`bench-bisect r1 r9`",
        )
    old, new = (in_repository(given.repository, end) for end in given.revisions)
    return SearchQuestion(
        old=old,
        new=new,
        testbed=given.testbed,
        workload=given.workload,
        min_effect=given.min_effect,
        with_=given.fix,
        tunables=tuple(parse_tunable(one).setting for one in given.tunable),
        value=given.value,
        first_parent=given.first_parent,
        priority=PersonPriority(given.priority or PersonPriority.NORMAL),
    )


def _main(argv: Sequence[str]) -> int:
    if COMMAND.is_local(argv):
        options = parse_local_bisect(argv)
        from buildbot_bench.cli import local_run  # noqa: PLC0415 - not for --help

        return local_run.run_search(options)
    command = parse_bisect(argv, os.environ)
    from buildbot_bench.cli import farm_run  # noqa: PLC0415 - not for --help

    return farm_run.run_search(command)


main = entry_point("bench-bisect", _main)

if __name__ == "__main__":
    sys.exit(main())
