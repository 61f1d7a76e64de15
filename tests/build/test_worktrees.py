"""A revision's tree from a mirror on the builder: real git, little fetched, nothing left over."""

import shutil
from pathlib import Path

import pytest

from buildbot_bench.build.cli import main
from buildbot_bench.demo.generated_history import GeneratedCommit, git, write_history
from tests.gitrepo import add_commits, add_raw_commit, numbered

DONE, USAGE, ILL = 0, 64, 75


@pytest.fixture
def history(tmp_path) -> tuple[Path, list[str]]:
    commits = [
        GeneratedCommit(
            svn=number, author="ann", message=f"{number}\n", files={"n": f"{number}\n", "same": "x"}
        )
        for number in range(1, 4)
    ]
    path = tmp_path / "upstream"
    return path, list(write_history(path, commits).values())


@pytest.fixture
def check_out(tmp_path, history):
    def run(sha: str, place: str = "build") -> int:
        where = [f"--mirror={tmp_path / 'var' / 'src.git'}", f"--repository={history[0]}"]
        return main(["checkout", *where, f"--revision={sha}", str(tmp_path / place)])

    return run


def test_each_revision_is_checked_out_in_the_same_place(check_out, history, tmp_path):
    for number, sha in enumerate(history[1], start=1):
        assert check_out(sha) == DONE
        assert (tmp_path / "build" / "n").read_text() == f"{number}\n"
        assert git(tmp_path / "build", "rev-parse", "HEAD").strip() == sha


def test_a_mirror_with_a_date_that_no_commit_graph_takes_is_tidied_up(check_out, history, tmp_path):
    """Debian 12's git 2.39 never ends a commit-graph with a date beyond 64 bits."""
    upstream, shas = history
    check_out(shas[0])
    mirror = tmp_path / "var" / "src.git"
    settings = {"fetch.unpackLimit": 1, "gc.autoPackLimit": 1, "gc.autoDetach": "false"}
    for name, value in settings.items():
        git(mirror, "config", name, str(value))
    date = b"Ann <ann@example.org> 99999999999999999999 +0000"
    add_raw_commit(upstream, b"author %s\ncommitter %s\n\nodd\n" % (date, date))
    for number in (4, 6):
        assert check_out(add_commits(upstream, numbered(number, number + 1))[-1]) == DONE
    assert len(list(mirror.glob("objects/pack/*.pack"))) == 1


def test_what_a_build_or_a_patch_left_behind_is_removed(check_out, history, tmp_path):
    place = tmp_path / "build"
    check_out(history[1][0])
    (place / "n").write_text("patched")
    (place / "obj").mkdir()
    (place / "obj" / "kernel").touch()
    git(place, "add", "n")
    assert check_out(history[1][0]) == DONE
    assert sorted(path.name for path in place.iterdir()) == [".git", "n", "same"]
    assert (place / "n").read_text() == "1\n"


def test_what_a_git_that_was_killed_had_locked_is_free(check_out, history, tmp_path):
    _, (first, second, _) = history
    assert check_out(first) == DONE
    mirror = tmp_path / "var" / "src.git"
    (mirror / "packed-refs.lock").touch()
    (mirror / "worktrees" / "build" / "index.lock").touch()
    assert check_out(second) == DONE
    assert (tmp_path / "build" / "n").read_text() == "2\n"


def test_a_file_that_did_not_change_keeps_its_time(check_out, history, tmp_path):
    check_out(history[1][0])
    before = (tmp_path / "build" / "same").stat().st_mtime_ns
    check_out(history[1][1])
    assert (tmp_path / "build" / "same").stat().st_mtime_ns == before


def test_builders_of_one_machine_share_a_mirror(check_out, history, tmp_path):
    places = ("one", "two")
    for place, sha in zip(places, history[1], strict=False):
        assert check_out(sha, place) == DONE
    version_of = [(tmp_path / place / "n").read_text() for place in places]
    assert version_of == ["1\n", "2\n"]


def test_the_mirror_is_fetched_into_when_it_lacks_the_revision_alone(check_out, history, tmp_path):
    check_out(history[1][0])
    work = tmp_path / "work"
    git(tmp_path, "clone", "--quiet", str(history[0]), str(work))
    (work / "n").write_text("4\n")
    identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    git(work, *identity, "commit", "--quiet", "--all", "--message=4")
    git(work, "push", "--quiet")
    fourth = git(work, "rev-parse", "HEAD").strip()
    assert check_out(fourth) == DONE
    shutil.rmtree(history[0])
    assert check_out(history[1][1]) == DONE


def test_a_worktree_that_was_deleted_is_made_anew(check_out, history, tmp_path):
    check_out(history[1][0])
    shutil.rmtree(tmp_path / "build")
    assert check_out(history[1][1]) == DONE
    assert (tmp_path / "build" / "n").read_text() == "2\n"


@pytest.mark.parametrize(
    ("sha", "status", "complaint"),
    [("main", USAGE, "no full hash"), ("--upload-pack=x", USAGE, ""), ("f" * 40, ILL, "git ")],
)
def test_what_cannot_be_had_is_told_in_a_line(check_out, capsys, sha, status, complaint):
    assert check_out(sha) == status
    assert complaint in capsys.readouterr().err


def test_a_repository_that_is_missing_is_the_builders_trouble(check_out, history, capsys):
    shutil.rmtree(history[0])
    assert check_out(history[1][0]) == ILL
    assert "git clone failed" in capsys.readouterr().err


def test_what_is_in_the_way_is_left_alone(check_out, history, tmp_path, capsys):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "thesis.tex").write_text("years")
    assert check_out(history[1][0]) == ILL
    assert "is in the way" in capsys.readouterr().err
    assert (tmp_path / "build" / "thesis.tex").read_text() == "years"
