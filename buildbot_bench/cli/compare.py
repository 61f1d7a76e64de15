"""`bench-compare`: its command line, read before the module is imported that answers it."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from buildbot_bench.api.requests import DEFAULT_ITERATIONS, ComparisonQuestion, Extension
from buildbot_bench.cli.console import entry_point
from buildbot_bench.cli.farm_access import FarmCommand, action_of, farm_access, in_repository
from buildbot_bench.cli.local_arguments import COMPARE_HERE, parse_local_compare
from buildbot_bench.cli.option_table import BEGIN, COMPARE, DECISIONS, START
from buildbot_bench.cli.option_values import BootsWanted, labels_of, packed
from buildbot_bench.cli.options import CommandLine, TwoWays, form_of
from buildbot_bench.core.compare.variants import cells_of, check_written
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.limits import DEFAULT_IMAGES
from buildbot_bench.core.sharing import PersonPriority

_DESCRIPTION = """\
Compare revisions of a program by what a command takes or prints. With --local
they are built and run here, on this machine. Without, a farm is asked: it builds
and boots kernels, each a revision with or without changes."""

_EPILOG = """\
on a farm a variant is a revision and its changes:
  r317849  n245062  HASH  TAG  BRANCH   a commit
  stable/14~3  stable/14-n267886        one of a branch
  r299288+D8526                         with the patch of a review
  r299288+file:my.patch                 with a patch of yours
  r299288+commit:c255761                with what a commit changes
  r317849+VIMAGE                        with a kernel option
  r317849+nooptions:INVARIANTS          without one
  r311848+sysctl:NAME=VALUE             with a tunable set; nothing is built

how a farm compares:
  It builds all, boots them in turns (A B B A ..., A B C C B A ...) and compares
  each NEW with BASE by its model of noise and by Student's t. There may be up to
  31 of NEW. Below 10 % a verdict stands on two images of each at least, linked in
  different orders: the farm builds as many as it needs. On a testbed that runs
  commands, a boot of a kernel is a run of a build.

examples without a farm:
  bench-compare --local main my-branch --build make --run ./bench
  bench-compare --local v1.0 v1.1 v1.2 --build make --run './bench big' -n 10

examples on a farm:
  bench-compare r317849 r317849+VIMAGE
  bench-compare r311848 r311849 r313448 --label r313448=IFLIB
  bench-compare main main+file:my.patch --workload forwarding -n 10
  bench-compare r299288 r299288+D8526 --markdown > comment.md
  bench-compare --follow 7 --output fbsd12-head.r317849.VIMAGE
  bench-compare r311848 r311849 --images 1
  bench-compare --extend 7 -n +5
  bench-compare --extend 7 r313448+file:netmap.patch

exit status:
    0  answered: a difference is proven, or is not
    2  the request is wrong or not allowed, or what it needs is not installed
    3  a variant cannot be tested, or the comparison was cancelled
    4  the farm, its lab or the network failed
  130  interrupted; the comparison goes on

The answer goes to standard output, everything else to standard error."""

COMMAND = TwoWays(
    farm=CommandLine(
        name="bench-compare",
        usage="bench-compare --local BASE NEW [NEW ...] --run COMMAND [--build COMMAND] [options]\n"
        "       bench-compare --local BASE NEW [NEW ...] [--workload NAME] [options]\n"
        "       bench-compare BASE NEW [NEW ...] [options]\n"
        "       bench-compare --extend ID [NEW ...] [-n +N] [options]\n"
        "       bench-compare --follow ID | --cancel ID | --list [options]\n"
        "       bench-compare --approve ID | --reject ID [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        operands="variants",
        called="VARIANT",
        operands_help="a revision, the first one BASE; on a farm see below",
        sections=COMPARE,
    ),
    local=COMPARE_HERE,
    usual=(
        *("--build", "--run", "--value", "-n", "--min-effect"),
        *("--dry-run", "--html", "--markdown"),
    ),
)


def parse_compare(argv: Sequence[str], environ: Mapping[str, str]) -> FarmCommand:
    """Fails as `TwoWays.parse` does."""
    given = COMMAND.parse(argv)
    action = action_of(given, *_KNOWN)
    return FarmCommand(
        action=action,
        number=0 if action in {"start", "list"} else getattr(given, action),
        said=_said(given, action),
        wait=not given.no_wait,
        form=form_of(given),
        output=_output(given.output),
        farm=farm_access(given, environ, action),
    )


_KNOWN = ("list", "follow", "cancel", "extend", *DECISIONS)


def _said(given: argparse.Namespace, action: str) -> ComparisonQuestion | Extension | None:
    if action == "start":
        return _question(given)
    COMMAND.farm.refuse(given, START, "goes with BASE NEW only")
    if action == "extend":
        return _extension(given)
    if given.variants:
        raise UsageError("--follow, --cancel, --approve, --reject and --list take no variants")
    COMMAND.farm.refuse(given, BEGIN, "goes with BASE NEW or --extend ID only")
    return None


def _question(given: argparse.Namespace) -> ComparisonQuestion:
    labels = labels_of(given.label)
    if given.factor:
        labels = _cells(given, labels)
        given.variants = list(labels)
    check_written(given.variants, labels)
    boots: BootsWanted | None = given.iterations
    if boots is not None and boots.more:
        raise UsageError(
            f"-n +{boots.number} goes with --extend ID only", hint=f"say -n {boots.number}"
        )
    patches: dict[str, bytes] = {}
    named = _sent(given, patches)
    return ComparisonQuestion(
        variants=tuple(named.values()),
        labels={named[text]: label for text, label in labels.items()},
        testbeds=tuple(given.testbed),
        workloads=tuple(given.workload),
        iterations=DEFAULT_ITERATIONS if boots is None else boots.number,
        images=given.images or DEFAULT_IMAGES,
        min_effect=given.min_effect,
        patches=patches,
        priority=PersonPriority(given.priority or PersonPriority.NORMAL),
    )


def _cells(given: argparse.Namespace, labels: Mapping[str, str]) -> dict[str, str]:
    """The variants that the factors make of BASE, with their labels."""
    if len(given.variants) != 1 or labels:
        raise UsageError(
            "--factor goes with one VARIANT, the base, and without --label",
            hint="the factors make and label the others",
        )
    return cells_of(given.variants[0], given.factor)


def _extension(given: argparse.Namespace) -> Extension:
    patches: dict[str, bytes] = {}
    named = _sent(given, patches)
    boots: BootsWanted | None = given.iterations
    more = boots is not None and boots.more
    return Extension(
        variants=tuple(named[text] for text in given.variants),
        # What it has already is known to the farm alone, which looks at all together.
        labels={named.get(text, text): label for text, label in labels_of(given.label).items()},
        iterations=None if boots is None or more else boots.number,
        images=given.images,
        more=boots.number if boots is not None and more else 0,
        patches=patches,
    )


def _sent(given: argparse.Namespace, patches: dict[str, bytes]) -> dict[str, str]:
    """What is sent of each variant as it is written; files that it names go into `patches`."""
    return {text: in_repository(given.repository, packed(text, patches)) for text in given.variants}


def _output(name: str | None) -> Path | None:
    """The directory for the result: looked at now, so that hours of boots are not in vain."""
    if name is None:
        return None
    path = Path(name)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"--output {name}: there is something already", hint="name a new place")
    return path


def _main(argv: Sequence[str]) -> int:
    if COMMAND.is_local(argv):
        options = parse_local_compare(argv)
        from buildbot_bench.cli import local_run  # noqa: PLC0415 - not for --help

        return local_run.run_comparison(options)
    command = parse_compare(argv, os.environ)
    from buildbot_bench.cli import farm_run  # noqa: PLC0415 - not for --help

    return farm_run.run_comparison(command)


main = entry_point("bench-compare", _main)

if __name__ == "__main__":
    sys.exit(main())
