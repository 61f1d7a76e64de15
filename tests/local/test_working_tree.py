"""What nobody committed yet is a revision, and the user's files and index stay as they are."""

import os
import subprocess
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.local.revisions import Revisions, working_tree
from buildbot_bench.programs import Git
from tests.gitrepo import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    for name in ("kept", "changed", "removed"):
        (place / name).write_text(f"{name}\n")
    (place / ".gitignore").write_text("*.o\n")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "First")
    return place


def _change(project: Path) -> None:
    (project / "changed").write_text("otherwise\n")
    (project / "removed").unlink()
    (project / "new").write_text("new\n")
    (project / "built.o").write_text("left by a build\n")
    (project / "staged").write_text("staged\n")
    git(project, "add", "staged")


def test_changed_new_and_removed_files_are_in_it_and_ignored_ones_are_not(project: Path) -> None:
    _change(project)
    before = git(project, "status", "--porcelain")
    (project / "deeper").mkdir()
    sha = working_tree(Git.around(project / "deeper"))
    names = git(project, "ls-tree", "-r", "--name-only", sha).split()
    assert names == [".gitignore", "changed", "kept", "new", "staged"]
    assert git(project, "show", f"{sha}:changed").strip() == "otherwise"
    assert git(project, "status", "--porcelain") == before
    assert git(project, "rev-list", "--all", "--count").strip() == "1"


def test_the_same_files_are_the_same_commit_and_none_changed_is_head(project: Path) -> None:
    head = git(project, "rev-parse", "HEAD").strip()
    around = Git.around(project)
    assert working_tree(around) == head
    _change(project)
    first = working_tree(around)
    assert first == working_tree(around) != head
    (project / "changed").write_text("otherwise again\n")
    assert working_tree(around) != first
    between = Revisions(git=around).between("HEAD", ".")
    assert [one.subject for one in between.revisions] == ["First", "What is not committed yet"]


def test_a_file_that_changed_in_the_moment_of_the_index_is_read(project: Path) -> None:
    """Of the same size and time as what git knows: by the index's own time git sees that."""
    git(project, "config", "core.trustctime", "false")
    file, moment = project / "changed", 1_700_000_000_000_000_000
    os.utime(file, ns=(moment, moment))
    git(project, "update-index", "--refresh")
    file.write_text("CHANGED\n")
    for one in (file, project / ".git" / "index"):
        os.utime(one, ns=(moment, moment))
    sha = working_tree(Git.around(project))
    assert git(project, "show", f"{sha}:changed") == "CHANGED"


def test_a_conflict_and_a_bare_repository_are_refused(project: Path, tmp_path: Path) -> None:
    git(project, "branch", "other")
    (project / "changed").write_text("here\n")
    git(project, "commit", "--quiet", "--all", "--message", "Here")
    git(project, "checkout", "--quiet", "other")
    (project / "changed").write_text("there\n")
    git(project, "commit", "--quiet", "--all", "--message", "There")
    who = ("-c", "user.name=A Committer", "-c", "user.email=committer@example.org")
    subprocess.run(["git", *who, "merge", "main"], cwd=project, check=False, capture_output=True)
    with pytest.raises(UsageError, match=r"changed.* is in conflict"):
        working_tree(Git.around(project))
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(project), str(bare)], check=True)
    with pytest.raises(UsageError, match="has no working tree"):
        working_tree(Git.around(bare))


def test_what_a_build_left_there_is_refused_by_its_size(project: Path) -> None:
    with (project / "disk.img").open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(UsageError, match=r"more than 1 GiB.*disk\.img"):
        working_tree(Git.around(project))
