"""The checkout from a builder's mirror: what is run there, and what a failure says."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from buildbot.process.results import EXCEPTION, SUCCESS

from buildbot_bench.plugin.buildbot_fixes.poller import GIT_CONFIG
from buildbot_bench.plugin.steps.build import (
    READS_REFERENCES,
    REMOVES_LOCKS,
    Checkout,
    CheckoutFromMirror,
)
from tests.fakes.stepcase import (
    SHUTDOWN,
    ExpectListdir,
    ExpectRmdir,
    ExpectShell,
    ExpectStat,
    StepCase,
)
from tests.gitrepo import Commit, make_repository

SHA = "5" * 40
SOURCE = "https://git.example.org/src.git"


class TestCheckoutFromMirror(StepCase):
    async def checked_out(self, outcome: int, *, exit_code=0, stderr="", stopped=None):
        """Check r4 out; its image afterwards."""
        image = await self.past.image(4, state="building")
        step = CheckoutFromMirror(repository=SOURCE, mirror="/var/src.git")
        self.prepare(step, image=image.id)
        self.build.setProperty("revision", SHA, "Test")
        words = ["--mirror=/var/src.git", f"--repository={SOURCE}", f"--revision={SHA}"]
        command = ExpectShell(
            workdir="build", command=["bench-build", "checkout", *words], log_environ=False
        )
        command.behavior(self.stop_build(stopped))
        self.expect_commands(command.stderr(stderr).exit(exit_code))
        self.expect_outcome(outcome)
        await self.run_step()
        return await self.farm.store.image(image.id)

    async def test_the_tree_is_a_worktree_of_the_mirror(self):
        assert (await self.checked_out(SUCCESS)).state == "building"

    async def test_a_failure_says_nothing_of_the_revision_and_is_told(self):
        image = await self.checked_out(
            EXCEPTION, exit_code=75, stderr="git fetch failed: timeout\n"
        )
        assert (image.state, image.reason) == ("building", "git fetch failed: timeout")

    async def test_a_master_that_shuts_down_says_nothing_of_the_revision(self):
        image = await self.checked_out(EXCEPTION, exit_code=-1, stopped=SHUTDOWN)
        assert (image.state, image.reason) == ("building", None)


@pytest.mark.parametrize("reference", ["HEAD", "refs/remotes/origin/HEAD"])
def test_a_reference_that_a_power_cut_left_empty_is_found(tmp_path: Path, reference: str) -> None:
    make_repository(tmp_path / "upstream", [Commit(files={"kernel": "r1\n"})])
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", tmp_path / "upstream", clone], check=True)

    def reads() -> int:
        return subprocess.run(
            ["git", *READS_REFERENCES], cwd=clone, capture_output=True, check=False
        ).returncode

    assert reads() == 0
    (clone / ".git" / reference).write_text("")
    assert reads() != 0


def test_locks_of_a_git_that_was_killed_are_removed_and_nothing_else(tmp_path: Path) -> None:
    make_repository(tmp_path / "upstream", [Commit(files={"pkg.lock": "1\n"})])
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", tmp_path / "upstream", clone], check=True)
    held = [clone / ".git" / name for name in ("index.lock", "refs/heads/main.lock")]
    for lock in held:
        lock.touch()
    subprocess.run(REMOVES_LOCKS, cwd=clone, check=True)
    assert [lock.exists() for lock in held] == [False, False]
    subprocess.run(["git", "checkout", "--quiet", "--force", "HEAD"], cwd=clone, check=True)
    assert (clone / "pkg.lock").exists()


class TestCheckout(StepCase):
    def git(self, *words: str) -> ExpectShell:
        settings = [word for item in GIT_CONFIG.items() for word in ("-c", "=".join(item))]
        return ExpectShell(workdir="build", command=["git", *settings, *words], log_environ=False)

    async def test_a_repository_with_a_broken_reference_is_cloned_anew(self):
        image = await self.past.image(4, state="building")
        step = Checkout(repository=SOURCE)
        self.prepare(step, image=image.id)
        stamp = SimpleNamespace(branch=None, revision=None, changes=[], patch=None, repository="")
        self.build.getSourceStamp = lambda _codebase=None: stamp
        cloned = ("clone", SOURCE, ".", "--progress")
        self.expect_commands(
            self.git("--version").stdout("git version 2.39.5\n").exit(0),
            ExpectStat(file="build/.buildbot-patched", log_environ=False).exit(1),
            ExpectListdir(dir="build").files([".git", "kernel"]).exit(0),
            ExpectShell(workdir="build", command=[*REMOVES_LOCKS], log_environ=False).exit(0),
            self.git(*READS_REFERENCES).exit(128),
            ExpectRmdir(dir="build", log_environ=False, timeout=1200).exit(0),
            self.git(*cloned).exit(0),
            self.git("rev-parse", "HEAD").stdout(SHA).exit(0),
        )
        self.expect_outcome(SUCCESS)
        await self.run_step()
