"""The command line of bench-compare, parsed into one request."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from buildbot_bench.cli.compare_values import boots_wanted, images_wanted, labels_of, packed
from buildbot_bench.cli.local_arguments import compare_parser
from buildbot_bench.cli.options import (
    FarmCommand,
    add_csv,
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
)
from buildbot_bench.cli.requests import (
    BootsWanted,
    Cancel,
    DecideComparison,
    ExtendComparison,
    Follow,
    ListNewest,
    Request,
    StartComparison,
)
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.limits import DEFAULT_IMAGES, MOST_IMAGES

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
  15 of NEW. Below 10 % a verdict stands on two images of each at least, linked in
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

DECISIONS = ("approve", "reject")
_USUAL = ("--build", "--run", "--value", "-n", "--min-effect", "--dry-run", "--html", "--markdown")

# These say how a comparison is to begin: beside --follow and its like they would be passed over.
_FOR_START_ONLY = {
    "testbed": "--testbed",
    "workload": "--workload",
    "min_effect": "--min-effect",
    "priority": "--priority",
}
_FOR_START_AND_EXTENSION = {
    "repository": "--repository",
    "iterations": "-n",
    "images": "--images",
    "label": "--label",
    "no_wait": "--no-wait",
}
_DEFAULT_ITERATIONS = 5


def parse_compare(argv: Sequence[str], environ: Mapping[str, str]) -> FarmCommand:
    """Raises UsageError for what is wrong; SystemExit(0) after --help and --version."""
    parser = _parser()
    refuse_local_options(argv, parser, compare_parser())
    options = parser.parse_args(argv)
    request = _request(options)
    return FarmCommand(
        request=request,
        form=form_of(options),
        output=_output(options.output),
        farm=farm_access(options, environ, starts=isinstance(request, StartComparison)),
    )


def asks_no_farm(argv: Sequence[str]) -> bool:
    """Whether a command line is one with `--local`."""
    return is_local(argv, _parser())


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "bench-compare",
        usage="bench-compare --local BASE NEW [NEW ...] --run COMMAND [--build COMMAND] [options]\n"
        "       bench-compare --local BASE NEW [NEW ...] [--workload NAME] [options]\n"
        "       bench-compare BASE NEW [NEW ...] [options]\n"
        "       bench-compare --extend ID [NEW ...] [-n +N] [options]\n"
        "       bench-compare --follow ID | --cancel ID | --list [options]\n"
        "       bench-compare --approve ID | --reject ID [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "variants",
        nargs="*",
        metavar="VARIANT",
        help="a revision, the first one BASE; on a farm see below",
    )
    add_version(parser)
    _add_comparison_options(parser)
    _add_answer_options(parser)
    add_farm_options(parser)
    begin_with_local(parser, compare_parser(), usual=_USUAL)
    return parser


def _add_comparison_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("on a farm: the comparison")
    add_repository(group)
    for name in ("testbed", "workload"):
        group.add_argument(
            f"--{name}",
            metavar=name[0].upper(),
            action="append",
            default=[],
            help=f"a {name} to compare on; may be given several times (default: all of the farm's)",
        )
    group.add_argument(
        "--label",
        metavar="VARIANT=LABEL",
        action="append",
        default=[],
        help="call a variant so, everywhere; may be given for each",
    )
    group.add_argument(
        "-n",
        dest="iterations",
        metavar="N",
        type=boots_wanted,
        help=f"boots of each one's first image ({_DEFAULT_ITERATIONS}), and the most of a further "
        "one, which gets two or more, as boots vary; +N beside --extend: so many more",
    )
    group.add_argument(
        "--images",
        metavar="N",
        type=images_wanted,
        help=f"images of each at most ({DEFAULT_IMAGES}; up to {MOST_IMAGES}): two below 10 %%, "
        "more while the verdict needs them; with 1, luck with layout looks like a change",
    )
    add_min_effect(group)
    add_priority(group)
    add_no_wait(group, "comparison")
    known = group.add_mutually_exclusive_group()
    add_follow_and_cancel(known, "comparison", "bench-compare")
    known.add_argument(
        "--extend",
        metavar="ID",
        type=known_number("comparison", "bench-compare"),
        help="go on with more boots or variants, or where it was cancelled or failed",
    )
    known.add_argument("--list", action="store_true", help="show the newest ones")
    number = known_number("comparison", "bench-compare")
    for decision in DECISIONS:
        known.add_argument(
            f"--{decision}", metavar="ID", type=number, help=f"{decision} a stranger's patches"
        )


def _add_answer_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the answer")
    forms = group.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as one JSON object")
    forms.add_argument("--markdown", action="store_true", help="as a comment for a review")
    add_csv(forms)
    group.add_argument(
        "--output", metavar="DIR", help="also write a result directory, as netbenches has them"
    )


def _request(options: argparse.Namespace) -> Request:
    known = [options.follow, options.cancel, options.approve, options.reject, options.extend]
    if not options.list and not any(known):
        return _start(options)
    refuse_beside_known(options, _FOR_START_ONLY, ends="BASE NEW")
    if options.extend is not None:
        return _extend(options)
    if options.variants:
        raise UsageError("--follow, --cancel, --approve, --reject and --list take no variants")
    refuse_beside_known(options, _FOR_START_AND_EXTENSION, ends="BASE NEW or --extend ID")
    if options.follow is not None:
        return Follow(number=options.follow)
    if options.cancel is not None:
        return Cancel(number=options.cancel)
    for decision in DECISIONS:
        if comparison_id := getattr(options, decision):
            return DecideComparison(comparison_id=comparison_id, decision=decision)
    return ListNewest()


def _start(options: argparse.Namespace) -> StartComparison:
    from buildbot_bench.core.ab_test import check_written  # noqa: PLC0415 - not for --help

    labels = labels_of(options.label)
    check_written(options.variants, labels)
    boots: BootsWanted | None = options.iterations
    if boots is not None and boots.more:
        raise UsageError(
            f"-n +{boots.number} goes with --extend ID only", hint=f"say -n {boots.number}"
        )
    patches: dict[str, bytes] = {}
    named = {
        text: in_repository(options.repository, packed(text, patches)) for text in options.variants
    }
    return StartComparison(
        variants=tuple(named.values()),
        labels={named[text]: label for text, label in labels.items()},
        testbeds=tuple(options.testbed),
        workloads=tuple(options.workload),
        iterations=_DEFAULT_ITERATIONS if boots is None else boots.number,
        images=options.images or DEFAULT_IMAGES,
        min_effect=options.min_effect,
        priority=options.priority,
        patches=patches,
        wait=not options.no_wait,
    )


def _extend(options: argparse.Namespace) -> ExtendComparison:
    patches: dict[str, bytes] = {}
    named = {
        text: in_repository(options.repository, packed(text, patches)) for text in options.variants
    }
    # What it has already is known to the farm alone, which looks at all together.
    labels = labels_of(options.label)
    return ExtendComparison(
        comparison_id=options.extend,
        variants=tuple(named[text] for text in options.variants),
        labels={named.get(text, text): label for text, label in labels.items()},
        iterations=options.iterations,
        images=options.images,
        patches=patches,
        wait=not options.no_wait,
    )


def _output(name: str | None) -> Path | None:
    """The directory for the result: looked at now, so that hours of boots are not in vain."""
    if name is None:
        return None
    path = Path(name)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"--output {name}: there is something already", hint="name a new place")
    return path
