"""`bench-farm run` and `bench-farm demo`: keep a farm on this machine, to look at."""

import argparse
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from buildbot_bench.cli.farm_access import Credentials, keep_login
from buildbot_bench.demo.farm import USER, FarmPlan, LocalFarm, serve
from buildbot_bench.demo.generated_history import (
    MAIN,
    Change,
    GeneratedCommit,
    patched_commits,
    read_changes,
    write_history,
)
from buildbot_bench.demo.scenario import Planted, run_demo
from buildbot_bench.demo.watching import Stopped, watched

IMPORT = Change(
    label="r320000", author="alice", message="Import the kernel: it forwards between two NICs"
)
SOURCES = "vm_kernel"
CHANGES = read_changes("vm")
LABELS = (IMPORT.label, *(change.label for change in CHANGES))

# What is true of the history, for whoever wants to know whether it was found out.
SLIGHTLY_SLOWER = "r320003"  # by half a percent of the instructions for a packet
SLOWER = "r320008"  # by a fifth or more of the packets per second
PANICS = "r320005"
HANGS = "r320006"


def make_vm_history(path: Path) -> dict[str, str]:
    """Make the bare repository `path`; returns the hash of each label, oldest first."""
    return write_history(path, list(patched_commits(SOURCES, IMPORT, CHANGES)))


# The model case is r311848 to r313448; the recorded history adds the revisions of the archive's
# published comparisons. Building a kernel is copying the file `kernel`, whose only line is the
# revision's label.
FIRST_SVN = 311848
LAST_SVN = 313448

_AUTHORS = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy")
_AREAS = (
    ("sys/dev/e1000", "em: correct the interrupt throttling of the 82574"),
    ("sys/net", "if_lagg: do not sleep while the lock is held"),
    ("bin/sh", "sh: keep the exit status of a trap"),
    ("sys/netpfil/ipfw", "ipfw: count dynamic rules per rule"),
    ("share/man", "netstat.1: mention -R"),
    ("sys/kern", "subr_taskqueue: say which thread a task waits for"),
    ("usr.bin/top", "top: show the load of idle threads"),
    ("sys/vm", "vm_page: drop a check that cannot fail"),
    ("sys/arm64", "arm64: map the device tree read-only"),
    ("contrib/llvm", "Merge a fix for the register allocator"),
    ("sys/netinet", "tcp: use the cached route when the socket is bound"),
    ("tools/regression", "Add a test of kqueue timers"),
)
# Invented like the rest, but for what the archive says: iflib came with r311849.
_SUBJECTS = {
    311849: ("heidi", "Convert the e1000 drivers (em, lem, igb) to iflib"),
    312904: ("heidi", "iflib: let the driver choose the length of its receive queue"),
    312905: ("heidi", "iflib: prefetch the next descriptor"),
    313448: ("heidi", "iflib: drain the transmit ring from the receive path"),
}


STABLE = "stable/10"
# FreeBSD's stable/10 parted from head in October 2013; nothing of then was recorded.
_FORK_SVN = 256281
_BEFORE = (_FORK_SVN, 295150, 299288)
_AFTER = (317849,)
_ON_STABLE = (256282, 295802)


def make_replay_history(path: Path) -> dict[str, str]:
    """Make the model case's bare repository; returns the hash of each label, oldest first."""
    return write_history(path, [_commit(svn) for svn in range(FIRST_SVN, LAST_SVN + 1)])


def make_recorded_history(path: Path) -> dict[str, str]:
    """Make one of all that was recorded, with a branch stable/10; the hash of each label."""
    head = [*_BEFORE, *range(FIRST_SVN, LAST_SVN + 1), *_AFTER]
    stable = [_commit(svn, branch=STABLE, parent=_FORK_SVN) for svn in _ON_STABLE]
    return write_history(path, [*map(_commit, head), *stable])


def _commit(svn: int, *, branch: str = MAIN, parent: int | None = None) -> GeneratedCommit:
    author, subject = _SUBJECTS.get(svn) or _plausible(svn)
    return GeneratedCommit(
        svn=svn,
        author=author,
        message=f"{subject}\n",
        files={"kernel": f"r{svn}\n"},
        branch=branch,
        parent=parent,
    )


def _plausible(svn: int) -> tuple[str, str]:
    area, subject = _AREAS[svn * 7 % len(_AREAS)]
    return _AUTHORS[svn * 3 % len(_AUTHORS)], f"{subject} ({area}, {svn % 9 + 1} of 9)"


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
    """Show a farm that finds what is planted; returns the exit status."""
    return run_demo(
        planted=Planted(change=options.change, culprit=options.plant),
        expected=options.expect,
        www_port=options.port,
        pb_port=options.pb_port,
    )


# `GET /D8526?download=true` gives the file D8526.diff of its directory.
_REVIEW = re.compile(r"/(D[1-9][0-9]{0,6})\?download=true", re.ASCII)
_PATIENCE_S = 30.0  # for a question that does not come to its end


@contextmanager
def review_site(patches: Path) -> Iterator[str]:
    """Serve a directory's reviews to this machine, on a port of its own; gives the site's URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Reviews, directory=str(patches)))
    threading.Thread(target=server.serve_forever, name="review site", daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Reviews(SimpleHTTPRequestHandler):
    timeout = _PATIENCE_S

    def translate_path(self, _path: str) -> str:
        """The file of a review's patch; one that is not there for all else."""
        match = _REVIEW.fullmatch(self.path)
        return str(Path(self.directory, f"{match[1]}.diff" if match else "none"))

    def guess_type(self, _path: object) -> str:
        """It is shown, not kept."""
        return "text/plain; charset=utf-8"

    def log_message(self, *_: object) -> None:
        """Say nothing: this is somebody's terminal."""
