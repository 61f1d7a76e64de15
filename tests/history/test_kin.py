"""Reverts and picks of a commit, in real repositories, by messages and by patches."""

import subprocess
from pathlib import Path

import pytest

from buildbot_bench.core.report.related import Relation
from buildbot_bench.history.kin import kin_of
from tests.running import ran

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


class Repository:
    """A repository with a work tree, by the git program."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
        self.commit("base", "a\nb\nc\nd\ne\nf\ng\n")

    def git(self, *words: str) -> str:
        done = ran(["git", *WHO, *words], cwd=self.path, check=True)
        return done.stdout.strip()

    def commit(self, message: str, content: str, name: str = "k.c") -> str:
        (self.path / name).write_text(content)
        self.git("add", name)
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    @property
    def home(self) -> Path:
        return self.path / ".git"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "r")


def test_what_git_revert_and_cherry_pick_write_is_read(repository: Repository) -> None:
    repository.git("branch", "stable/14")
    culprit = repository.commit("slow; <b>down</b>", "a\nb\nX\nd\ne\nf\ng\n")
    repository.commit("other", "x\n", name="o.c")
    repository.git("revert", "--no-edit", culprit)
    reverted = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "-q", "stable/14")
    repository.git("cherry-pick", "-x", culprit)
    picked = repository.git("rev-parse", "HEAD")
    found = {one.sha: one for one in kin_of(repository.home, culprit)}
    assert set(found) == {reverted, picked}
    assert found[reverted].relation is Relation.REVERTED_BY
    assert (found[picked].relation, found[picked].branch) == (Relation.PICKED_AS, "stable/14")
    assert not any(one.by_patch for one in found.values())
    origin, taken_back = kin_of(repository.home, picked)
    assert (origin.relation, origin.sha) == (Relation.PICKED_FROM, culprit)
    assert (taken_back.relation, taken_back.branch) == (Relation.REVERTED_BY, "main")
    (undone,) = [k for k in kin_of(repository.home, reverted) if k.sha == culprit]
    assert undone.relation is Relation.REVERTS


def test_equal_and_inverse_patches_need_no_message(repository: Repository) -> None:
    repository.git("branch", "stable/14")
    culprit = repository.commit("slow", "a\nb\nX\nd\ne\nf\ng\n")
    undone = repository.commit("back out for now", "a\nb\nc\nd\ne\nf\ng\n")
    repository.git("checkout", "-q", "stable/14")
    repository.commit("unlike", "a\nb\nc\nd\ne\nf\nY\n")
    again = repository.commit("MFC: slow", "a\nb\nX\nd\ne\nf\nY\n")
    found = {one.sha: one for one in kin_of(repository.home, culprit)}
    assert set(found) == {undone, again}
    assert (found[undone].relation, found[undone].by_patch) == (Relation.REVERTED_BY, True)
    assert (found[again].relation, found[again].branch) == (Relation.PICKED_AS, "stable/14")


def test_what_touches_more_is_no_pick(repository: Repository) -> None:
    culprit = repository.commit("slow", "a\nb\nX\nd\ne\nf\ng\n")
    (repository.path / "o.c").write_text("more\n")
    repository.git("add", "o.c")
    repository.commit("back, and more", "a\nb\nc\nd\ne\nf\ng\n")
    assert kin_of(repository.home, culprit) == ()


def test_a_message_that_speaks_of_a_hash_is_no_revert(repository: Repository) -> None:
    culprit = repository.commit("slow", "a\nb\nX\nd\ne\nf\ng\n")
    repository.commit(f"unlike {culprit}, this is fast", "o\n", name="o.c")
    repository.commit(f"This reverts commit {'0' * 40}.", "p\n", name="o.c")
    assert kin_of(repository.home, culprit) == ()


def test_a_merge_and_an_unknown_commit_have_no_kin(repository: Repository) -> None:
    assert kin_of(repository.home, "1" * 40) == ()
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side", "s\n", name="s.c")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "--no-edit", "side")
    assert kin_of(repository.home, repository.git("rev-parse", "HEAD")) == ()
