"""`bench-build world`: built, kept by the tree's content, resumed, and refused before a build."""

import pytest

from buildbot_bench.build.cli import main
from buildbot_bench.build.toolchains import clang_and_lld
from buildbot_bench.build.world import LEFT_OUT, left_out
from tests.build.builder import DONE, ILL, UNTESTABLE, USAGE
from tests.fakes.freebsd_tree import add_world, make_tree


class World:
    """A tree that has a userland, and the command on it."""

    def __init__(self, home, capsys):
        self.home, self.capsys = home, capsys
        self.source = add_world(make_tree(home / "src"))

    def build(self, *words, source=None):
        places = [str(source or self.source), f"--worlds={self.home / 'worlds'}", "--tool=make"]
        status = main(["world", *places, "--least-free=1", "--jobs=1", *words])
        said = self.capsys.readouterr()
        self.said = said.out + said.err
        return status

    @property
    def root(self):
        (line,) = [line for line in self.said.splitlines() if line.startswith("world: ")]
        return self.home.__class__(line.removeprefix("world: ")) / "root"

    @property
    def toolchains(self):
        """How often the tree's tool chain was asked for."""
        return len((self.home / "worlds" / "toolchain.log").read_text().splitlines())


@pytest.fixture
def world(tmp_path, capsys):
    return World(tmp_path, capsys)


def test_a_world_is_built_once_for_a_tree_and_leaves_no_objects(world):
    assert world.build() == DONE
    assert (world.root / "bin/cat").is_file()
    # The tree installs this library itself, read-only: a plain user puts it there anew.
    assert (world.root / "lib/libc.so.7").stat().st_mode & 0o200
    assert (world.root / "etc/rc").read_text() == "echo starting\n"
    assert sorted(path.name for path in world.root.parent.iterdir()) == [
        "lock", "made-of.json", "root",
    ]  # fmt: skip
    first = world.root
    assert "20 min of two quiet cores" in world.said.splitlines()[0]
    assert world.build() == DONE
    assert world.root == first
    assert "kept; times" in world.said
    assert world.toolchains == 1


def test_a_program_that_a_later_release_keeps_elsewhere_is_found_there(world):
    (world.source / "usr.bin/timeout").rename(world.source / "bin/timeout")
    assert world.build() == DONE


def test_a_program_that_a_later_release_has_beside_is_built_there(world):
    """OpenSSH's sshd(8) starts no session without it."""
    beside = world.source / "secure/libexec/sshd-session"
    beside.mkdir()
    (beside / "Makefile").touch()
    assert world.build() == DONE
    log = (world.home / "worlds/bench-build.log").read_text()
    assert "===> secure/libexec/sshd-session (install)" in log
    assert "secure/libexec/sshd-auth" not in log


def test_a_compiler_that_is_too_old_for_the_tree_is_told_before_anything_is_built(world):
    makefile = world.source / "lib/libc++/Makefile"
    makefile.parent.mkdir(parents=True)
    makefile.write_text("CXXSTD?=\tc++17\n.else\nCXXSTD?=\tc++2999\n.endif\n")
    assert world.build() == ILL
    assert "is written in c++2999, which this compiler lacks: " in world.said
    assert "install newer ones: Debian: clang-19 lld-19" in world.said
    assert not (world.home / "worlds" / "toolchain.log").exists()


def test_where_clang_is_too_old_for_the_tree_the_newest_versioned_one_builds_it(
    tmp_path, monkeypatch
):
    """As Debian names them: a program with its version, which leads to its directory."""
    answers = {"14": ("-std=c++17", True), "18": ("", True), "19": ("", True), "20": ("", False)}
    for version, (refused, has_linker) in answers.items():
        home = tmp_path / f"llvm-{version}"
        home.mkdir()
        for name in ("clang", *(["ld.lld"] if has_linker else [])):
            (home / name).write_text(f'#!/bin/sh\n[ "$1" = "{refused}" ] || echo {version}\n')
            (home / name).chmod(0o755)
        (tmp_path / f"clang-{version}").symlink_to(home / "clang")
    (tmp_path / "clang").symlink_to(tmp_path / "llvm-14" / "clang")
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    assert clang_and_lld().directory == tmp_path / "llvm-14"
    assert clang_and_lld("c++14").directory == tmp_path / "llvm-14"
    assert clang_and_lld("c++17").directory == tmp_path / "llvm-19"
    (tmp_path / "clang-19").unlink()
    assert clang_and_lld("c++17").version == "18; 18"


def test_what_a_tree_requires_is_not_switched_off(world):
    assert {"CASPER", "CLANG"} <= {*left_out(world.source)}
    options = world.source / "share/mk/src.opts.mk"
    options.parent.mkdir(parents=True, exist_ok=True)
    options.write_text(
        "__DEFAULT_YES_OPTIONS = \\\n    CLANG\n__REQUIRED_OPTIONS = \\\n    CASPER\n\nX=1\n"
    )
    assert {*LEFT_OUT} - {*left_out(world.source)} == {"CASPER"}


@pytest.mark.parametrize("name", ["bin/cat/main.c", "libexec/rc/rc"])
def test_a_tree_whose_program_or_script_changed_has_another_world(world, name):
    assert world.build() == DONE
    first = world.root
    text = (world.source / name).read_text()
    (world.source / name).write_text(f"\n{text}")
    assert world.build() == DONE
    assert world.root != first
    (world.source / name).write_text(text)
    assert world.build() == DONE
    assert world.root == first
    assert world.toolchains == 2


def test_a_program_that_does_not_compile_is_the_trees_and_the_build_goes_on_from_there(world):
    program = world.source / "bin/cat/main.c"
    program.write_text("int main(void) { return no_such; }\n")
    assert world.build() == UNTESTABLE
    assert "bin/cat/main.c" in world.said
    assert "the whole log:" in world.said
    (begun,) = (world.home / "worlds").glob("begun-*")
    kept = begun / "obj" / "kept"
    kept.touch()
    program.write_text("int main(void) { return 0; }\n")
    assert world.build() == DONE
    assert world.root.parent == begun


def test_a_userland_that_lacks_what_a_machine_boots_by_is_not_kept(world):
    needed = world.source / "needed"
    text = needed.read_text()
    needed.write_text(text.replace("usr/bin/pkt-gen\n", ""))
    assert world.build() == UNTESTABLE
    assert "the userland of this tree lacks usr/bin/pkt-gen" in world.said
    needed.write_text(text)
    assert world.build() == DONE


def test_a_builder_that_lacks_a_compiler_is_the_builders_fault(world):
    source = world.source / "Makefile"
    source.write_text(source.read_text().replace("CC ?= cc", "CC = no-such-cc"))
    assert world.build() == ILL


def test_a_tree_that_is_none_or_not_whole_is_refused_in_a_line_before_anything_is_built(world):
    assert world.build(source=world.home) == USAGE
    assert world.said.strip().count("\n") == 0
    assert "no FreeBSD source tree" in world.said
    (world.source / "crypto/openssh/config.h").unlink()
    (world.source / "bin/sh/Makefile").unlink()
    assert world.build() == USAGE
    assert "lacks bin/sh/Makefile, crypto/openssh/config.h" in world.said
    assert "git status" in world.said
    assert world.said.strip().count("\n") == 0
    assert not (world.home / "worlds").exists()


def test_what_the_machine_lacks_is_a_line_each_with_its_package(world, monkeypatch):
    assert world.build("--least-free=100000000") == ILL
    assert "MB free at" in world.said
    assert "100000000 are needed" in world.said
    monkeypatch.setenv("PATH", "/nowhere")
    assert world.build() == ILL
    assert "missing: git: install Debian: git" in world.said
    assert not (world.home / "worlds").exists()


def test_a_tree_without_make_py_is_too_old_for_another_system(world):
    (world.source / "tools/build/make.py").unlink()
    assert world.build("--tool=make.py") == ILL
    assert "too old" in world.said
    assert "since 13.0" in world.said


def test_a_tree_whose_scripts_lost_their_modes_is_refused_before_anything_is_built(world):
    (world.source / "contrib/bmake/configure").chmod(0o644)
    assert world.build("--tool=make.py") == USAGE
    assert "contrib/bmake/configure may not be run" in world.said
    assert "chmod +x" in world.said
