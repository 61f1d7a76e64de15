"""`bench-farm run` and `bench-farm demo`: keep a farm on this machine, to look at."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.cli.credentials import Credentials, keep_login
from buildbot_bench.demo.farm import USER, FarmPlan, LocalFarm, serve
from buildbot_bench.demo.replay_history import make_recorded_history
from buildbot_bench.demo.review_site import review_site
from buildbot_bench.demo.scenario import run_demo
from buildbot_bench.demo.vm_history import make_vm_history
from buildbot_bench.demo.watching import Stopped, watched

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


def run(options: argparse.Namespace) -> int:
    """Keep a farm until it is stopped; returns the exit status."""
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
            serve(farm, _say)
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


def demo(options: argparse.Namespace) -> int:
    """Show a farm that finds a planted slowdown; returns the exit status."""
    return run_demo(
        planted=options.plant,
        expected=options.expect,
        www_port=options.port,
        pb_port=options.pb_port,
    )
