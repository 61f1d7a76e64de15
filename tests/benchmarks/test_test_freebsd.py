"""`make test-freebsd`: its rows on a tree in miniature, as a user with a real one runs them."""

import subprocess
import tomllib

import pytest

from benchmarks.freebsd import __main__ as command
from benchmarks.freebsd.box import limits
from benchmarks.freebsd.table import Figure
from tests.build.builder import needs_lld
from tests.fakes.freebsd_tree import make_tree

BUILD = ["--build=--tool=make", "--build=--least-free=1", "--build=--modules=em", "--jobs=2"]
BUILT = "--rows=build,digest,relink,directory"  # the others boot what was built


def test_without_a_tree_it_says_how_to_get_one(capsys):
    assert command.main([""]) == 0
    said = capsys.readouterr().out
    assert "git clone" in said
    assert "make test-freebsd SRC=" in said


@needs_lld
@pytest.mark.parametrize("is_repository", [True, False])
def test_each_figure_that_is_wanted_is_printed_beside_what_is_seen(tmp_path, capsys, is_repository):
    source = make_tree(tmp_path / "theirs")
    if is_repository:
        git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "theirs"]):
            subprocess.run([*git, *words], check=True)
    before = sorted(source.rglob("*"))
    scratch = tmp_path / "scratch"
    assert command.main([str(source), f"--scratch={scratch}", BUILT, *BUILD]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"test-freebsd: {source}; rows: build,")
    begun = ("… clones", "… builds start", "     configuration …", "build      from nothing")
    assert [said.index(words) for words in begun] == sorted(said.index(words) for words in begun)
    *lines, verdict = said.splitlines()
    table = "\n".join(lines)
    for told in (
        "no change",
        "one file",
        "a comment",
        "its revert",
        "image 3",
        "another directory",
    ):
        assert told in table
    assert "≤ 30 s" in table
    assert "FAIL" not in table
    assert " figures as wanted, 0 not, " in verdict
    assert sorted(source.rglob("*")) == before


def test_a_build_that_fails_ends_it_with_the_log(tmp_path, capsys):
    source = make_tree(tmp_path / "theirs")
    (source / "sys" / "kern" / "main.c").write_text("int 1;\n")
    assert command.main([str(source), f"--scratch={tmp_path / 'scratch'}", *BUILD]) == 1
    assert "start.log" in capsys.readouterr().err


def test_what_is_no_tree_is_told(tmp_path, capsys):
    assert command.main([str(tmp_path)]) == 1
    assert "is no FreeBSD source tree" in capsys.readouterr().err


def test_a_figure_that_is_not_met_fails_and_others_add_rows(tmp_path, capsys):
    figure = Figure(row="boot", what="x", wanted="y", seen="z", is_met=False)
    source = make_tree(tmp_path / "theirs")
    words = [str(source), f"--scratch={tmp_path / 'scratch'}", "--rows=boot"]
    assert command.main(words, {"boot": lambda _: iter([figure])}) == 1
    assert "FAIL boot" in capsys.readouterr().out


def test_a_box_on_a_busy_host_waits_longer_for_a_good_kernel():
    quiet, busy = (tomllib.loads(limits(up_s))["testbeds"]["box"]["limits"] for up_s in (28, 117))
    assert quiet == {"reboot_s": 180, "ready_s": 90}
    assert busy == {"reboot_s": 468, "ready_s": 234}
