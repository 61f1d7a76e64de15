"""The command `bench-farm`: a farm on this machine, to look at or as a demonstration."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.cli.credentials import Credentials, keep_login
from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.demo.checking import add_check
from buildbot_bench.demo.farm import USER, FarmPlan, LocalFarm, serve
from buildbot_bench.demo.init.command import add_init
from buildbot_bench.demo.operations import add_operations
from buildbot_bench.demo.replay_history import make_recorded_history
from buildbot_bench.demo.review_site import review_site
from buildbot_bench.demo.scenario import run_demo
from buildbot_bench.demo.vm_history import make_vm_history
from buildbot_bench.demo.watching import Stopped, watched
from buildbot_bench.plugin.private_files import PRIVATE_UMASK
from buildbot_bench.version import ShowVersion

_USAGE, _INFRASTRUCTURE = 2, 4
_SIGNAL = 128  # as a shell tells it
_PATCHES = Path(__file__).with_name("data") / "patches"
_REVIEWS = re.compile(r"^reviews: .*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Lab:
    """A lab that comes with a history to search: what to ask of it, and what makes it.

    `patches` is a directory of those that variants may name: D8526.diff is that of a review.
    """

    question: str
    make_history: Callable[[Path], object]
    patches: Path | None = None


_LABS = {
    "replay": _Lab(
        question="r311848 r313448", make_history=make_recorded_history, patches=_PATCHES
    ),
    "vm": _Lab(question="r320000 r320010 --testbed vm-exact", make_history=make_vm_history),
}


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
    what.add_argument("--workflow", type=Path, metavar="FILE", help="a bench.yml of your own")
    what.add_argument(
        "--lab",
        choices=_LABS,
        default="replay",
        help="recorded measurements of an APU2, or virtual machines (default: %(default)s)",
    )
    run.add_argument("--dir", type=Path, help="default: .farm/LAB")
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
    directory = (options.dir or Path(".farm") / options.lab).resolve()
    plan = FarmPlan(
        directory=directory,
        workflow=(options.workflow or directory / "bench.yml").resolve(),
        www_port=options.port,
        pb_port=options.pb_port,
        db_url=options.db,
    )
    farm = LocalFarm(plan)
    with watched(directory, _say), ExitStack() as beside:
        if not options.workflow:
            _generate(options.lab, directory, beside)
        farm.prepare()
        login = keep_login(plan.url, Credentials(user=USER, password=plan.password))
        asked = question(options.workflow, options.lab)
        try:
            farm.start()
            _say(
                f"The farm runs: {plan.url}\n"
                f"Ask it:        bench-bisect {asked} --farm {plan.url}\n"
                f"Its login:     {login}, where bench-bisect finds it\n"
                "Ctrl-C or closing this terminal stops it; the same command starts it again where "
                "it was."
            )
            serve(farm)
        except Stopped:
            return 0
        finally:
            farm.stop()
    return 0


def question(workflow: Path | None, lab: str) -> str:
    """A range that the farm has; what is in a history of their own only its users know."""
    return _LABS[lab].question if workflow is None else "OLD NEW"


def _generate(lab: str, directory: Path, beside: ExitStack) -> None:
    """A lab's workflow beside its generated repository, made when they are missing.

    Patches of a file are put there too; those of reviews are served until `beside` ends.
    """
    workflow = Path(__file__).with_name(f"{lab}.yml").read_text(encoding="utf-8")
    if patches := _LABS[lab].patches:
        site = beside.enter_context(review_site(patches))
        workflow = _REVIEWS.sub(f"reviews: {site}", workflow)
        for patch in patches.glob("*.patch"):
            shutil.copyfile(patch, directory / patch.name)
    (directory / "bench.yml").write_text(workflow, encoding="utf-8")
    if not (directory / "src").exists():
        _say("Making the history ...")
        _LABS[lab].make_history(directory / "src")


def _say(text: str) -> None:
    print(text, flush=True)


def _demo(options: argparse.Namespace) -> int:
    return run_demo(
        planted=options.plant,
        expected=options.expect,
        www_port=options.port,
        pb_port=options.pb_port,
    )
