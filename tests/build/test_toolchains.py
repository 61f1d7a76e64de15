"""The tool chain is built once for each state of what it is built from, for all worktrees."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from buildbot_bench.build import toolchains
from buildbot_bench.build.toolchains import Toolchain, inputs, toolchain
from buildbot_bench.core.errors import InfraError
from tests.build.builder import DONE, needs_clang

CONFIG = "usr.sbin/config/main.c"


def test_commits_of_the_kernel_and_of_manuals_share_one(builder):
    assert builder.build() == DONE
    builder.edit("sys/kern/main.c", "x * 2", "x * 3")
    builder.edit("usr.sbin/config/config.8", "Its", "The")
    (builder.source / "README.md").write_text("new")
    assert builder.build() == DONE
    assert builder.toolchains() == 1


@pytest.mark.parametrize(
    "name", [CONFIG, "usr.sbin/config/config.sh", "share/mk/bsd.own.mk", "Makefile"]
)
def test_what_it_is_built_from_makes_another_and_the_first_is_kept(builder, name):
    assert builder.build() == DONE
    path = builder.source / name
    text = path.read_text()
    path.write_text(f"{text}\n")
    assert builder.build() == DONE
    assert builder.toolchains() == 2
    path.write_text(text)
    assert builder.build() == DONE
    assert builder.toolchains() == 2


def test_another_worktree_with_other_objects_shares_it(builder, capsys):
    assert builder.build() == DONE
    again = builder.home / "again"
    shutil.copytree(builder.source, again)
    assert builder.build(f"--source={again}", f"--obj={builder.home / 'obj2'}") == DONE
    assert builder.toolchains() == 1
    assert "tool chain: kept" in capsys.readouterr().out


@needs_clang
def test_an_object_tree_keeps_the_make_of_its_tool_chain_and_no_others(builder):
    takes_any_make = "if not installed.exists():"  # as make.py did until 13
    newer = "if not installed.exists() or not noted.exists() or noted.read_text() != configured:"
    builder.edit("tools/build/make.py", newer, takes_any_make)
    others, make = builder.home / "another", builder.obj / "bmake-install"
    others.mkdir()
    builder.obj.mkdir()
    make.symlink_to(others)  # as this project did once
    assert builder.build(tool="make.py") == DONE
    assert not make.is_symlink()
    (make / "same").touch()
    assert builder.build(tool="make.py") == DONE
    assert (make / "same").exists()
    builder.edit("share/mk/bsd.own.mk", "rules", "other rules")
    assert builder.build(tool="make.py") == DONE
    assert not (make / "same").exists()


def test_builds_that_start_at_once_wait_for_one(builder):
    words = [sys.executable, "-m", "buildbot_bench.build.cli"]
    running = [
        subprocess.Popen(
            [*words, *builder.words(f"--obj={builder.home}/obj{n}", f"--output={builder.home}/{n}")]
        )
        for n in range(2)
    ]
    assert [process.wait(timeout=120) for process in running] == [DONE, DONE]
    assert builder.toolchains() == 1


def build(made: Toolchain) -> None:
    (made.tools / "config").touch()


def place(store: Path, source: Path, name: str) -> Path:
    with toolchain(store, source, [name], build) as made:
        return made.place


def test_the_least_recently_used_go_and_one_in_use_stays(tmp_path):
    store = tmp_path / "store"
    with toolchain(store, tmp_path, ["used"], build) as used:
        first = place(store, tmp_path, "first")
        for number in range(toolchains.MOST_KEPT):
            place(store, tmp_path, str(number))
        assert (used.tools / "config").exists()
        assert not first.exists()
        assert place(store, tmp_path, "used") == used.place


def test_what_an_interrupted_build_left_is_removed(tmp_path):
    store = tmp_path / "store"
    left = store / "toolchain-left"
    left.mkdir(parents=True)
    place(store, tmp_path, "one")
    assert not left.exists()


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def fail(made: Toolchain) -> None:
        build(made)
        raise InfraError("archive.h is missing")

    store = tmp_path / "store"
    with pytest.raises(InfraError), toolchain(store, tmp_path, ["x"], fail):
        pass
    assert [path.name for path in store.iterdir()] == ["lock"]


def test_a_header_that_is_linked_to_from_among_the_objects_is_an_input(tmp_path):
    header = tmp_path / "src" / "sys" / "sys" / "elf_common.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define ET_REL 1\n")
    objects = tmp_path / "objects" / "usr.bin" / "objcopy"
    (objects / "sys").mkdir(parents=True)
    (objects / "sys" / "elf_common.h").symlink_to(header)
    (objects / ".depend.main.o").write_text("main.o: sys/elf_common.h \\\n /usr/include/stdio.h\n")
    assert "sys/sys/elf_common.h" in inputs(tmp_path / "src", tmp_path / "objects")
