"""What the machine did to a build is not kept as a verdict on its revision."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.report.model import ReportKind
from buildbot_bench.local.bisecting import Bisection
from buildbot_bench.local.builds import Workshop, opened
from buildbot_bench.local.recipe import BuildRecipe, BuildStep
from buildbot_bench.local.reports import report_of
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git
from tests.chaos.disk import disk_in
from tests.fakes.local_bench import ReadMeasurer, SilentWatcher
from tests.gitrepo import Commit, make_repository
from tests.local.conftest import SLOWER_FROM


def workshop(repository, build: str) -> Workshop:
    recipe = BuildRecipe(steps=(BuildStep(script=build),))
    return Workshop(repository.git, repository.room, repository.store, recipe)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        ("head -c 9 /dev/zero > /dev/full", "No space left on device"),
        ("nosuchtool --fast", "nosuchtool: not found|nosuchtool: command not found"),
        ("kill -KILL $$", "killed by SIGKILL"),
        ("(kill -TERM 0)", "SIGTERM|status 143"),
        ("sh -c 'kill -INT $$'; exit $?", "SIGINT|status 130"),
    ],
)
def test_a_build_that_the_machine_failed_says_nothing_of_its_revision(repository, build, said):
    one = Revisions(git=repository.git).one("main")
    with pytest.raises(InfraError) as caught:
        workshop(repository, build).build(one, 0, beside=False)
    assert any(words in caught.value.message for words in said.split("|"))
    assert f"n12 ({one.short_sha})" in caught.value.message
    assert "--skip" in caught.value.hint
    assert list(repository.room.trees.iterdir()) == []


@pytest.mark.parametrize("build", ["./configure", "kill -SEGV $$", "exit 125", "cat nothing"])
def test_a_build_that_fails_by_itself_does(repository, build):
    one = Revisions(git=repository.git).one("main")
    assert workshop(repository, build).build(one, 0, beside=False).reason


def test_a_build_that_somebody_kills_is_tried_again(ask, bench_for, tmp_path):
    """Once only: the second time there is nobody who does."""
    build = (
        f"test $(cat number) != {SLOWER_FROM - 1} || test -e {tmp_path}/once || "
        f"{{ touch {tmp_path}/once; echo $$ > {tmp_path}/pid; sleep 60; }}"
    )

    def kill() -> None:
        deadline = time.monotonic() + 60
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    search = ask(build=build)
    with pytest.raises(InfraError, match="killed by SIGKILL"):
        Bisection(search, bench_for(search, ReadMeasurer()), SilentWatcher()).run()
    killer.join()
    found = Bisection(search, bench_for(search, ReadMeasurer()), SilentWatcher()).run()
    report = report_of(search, found)
    assert (report.kind, report.skipped) == (ReportKind.CULPRIT, ())
    assert [one.subject for one in report.headline.suspects] == [f"Change {SLOWER_FROM}"]


def test_a_full_disk_is_the_machines_however_little_the_build_says_of_it(tmp_path: Path):
    disk = disk_in(tmp_path)
    full = (
        "cat /dev/zero 2>/dev/null > big" if not disk.lacks else "head -c 9 /dev/zero > /dev/full"
    )
    try:
        make_repository(disk.root / "project.git", [Commit(files={"number": "1\n"})])
        with opened(Git.around(disk.root / "project.git"), most_bytes=1 << 30) as repository:
            one = Revisions(git=repository.git).one("main")
            with pytest.raises(InfraError, match=r"are free on the disk|No space left"):
                workshop(repository, full).build(one, 0, beside=False)
            assert workshop(repository, "echo 2 > made").build(one, 0, beside=False).kernel
    finally:
        disk.remove()
