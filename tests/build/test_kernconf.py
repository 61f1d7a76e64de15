"""Which configuration a kernel has: a name or a file, lines of options, its modules."""

import pytest

from buildbot_bench.build.kernconf import Base, built_in, kernel_config
from buildbot_bench.core.errors import UsageError
from tests.build.builder import DONE, UNTESTABLE, USAGE, needs_clang
from tests.unpacking import unpack

PLAIN = Base(name="GENERIC", text="include GENERIC\n", whole="")


def test_without_a_word_it_is_the_first_of_two_that_the_tree_has(builder, capsys):
    conf = builder.source / "sys" / "amd64" / "conf"
    assert builder.build() == DONE
    assert builder.manifest().config.startswith("include GENERIC-NODEBUG;")
    (conf / "GENERIC-NODEBUG").unlink()
    assert builder.build() == DONE
    assert builder.manifest().config.startswith("include GENERIC;")
    (conf / "GENERIC").unlink()
    assert builder.build() == UNTESTABLE
    assert "the tree has no sys/amd64/conf/GENERIC" in capsys.readouterr().err


def test_a_word_with_a_slash_is_a_file(builder, capsys):
    mine = builder.home / "MINE"
    mine.write_text("include GENERIC\noptions MAXCPU=4 # few\n")
    assert builder.build(f"--kernconf={mine}") == DONE
    assert "options MAXCPU=4" in builder.manifest().config
    assert builder.build("--kernconf=./nowhere") == USAGE
    assert "--kernconf: cannot read nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "options VIMAGE",
        "nooptions INVARIANTS",
        "options MAXCPU=4",
        "device netmap",
        "nodevice em",
        "makeoptions WITH_EXTRA_TCP_STACKS=1",
        "makeoptions COPTFLAGS=-O3",
        'makeoptions COPTFLAGS="-O2 -fno-strict-aliasing"',
        "nomakeoptions DEBUG",
        "  options\tVIMAGE ",
    ],
)
def test_lines_of_the_five_kinds_are_taken(line):
    assert line.strip() in kernel_config(PLAIN, line, 0).splitlines()


@pytest.mark.parametrize(
    "line",
    [
        'makeoptions X="$(reboot)"',
        "makeoptions CC=/tmp/cc",
        "makeoptions SHELL=/tmp/sh",
        "makeoptions LDFLAGS=-Wl,--script=x",
        "makeoptions DEBUG=-fplugin=evil.so",
        "makeoptions DEBUG=${reboot}",
        "makeoptions COPTFLAGS=-Ofast;reboot",
        "makeoptions COPTFLAGS=-B/tmp",
        'makeoptions COPTFLAGS="-O2 @/etc/passwd"',
        "options VIMAGE # and more",
        'include "/etc/passwd"',
        "files ../../x",
        "device em\x00",
        "options lower",
        "options A=" + "x" * 100,
    ],
)
def test_other_lines_are_refused(line):
    with pytest.raises(UsageError, match="is no line of options"):
        kernel_config(PLAIN, f"options VIMAGE\n{line}", 0)


def test_what_a_line_says_goes_before_what_the_base_says():
    """config(8) heeds the first of two."""
    said = kernel_config(PLAIN, "options MAXCPU=4\nmakeoptions DEBUG=-g", 0).splitlines()
    assert said.index("nooptions MAXCPU") + 1 == said.index("options MAXCPU=4")
    assert said.index("nomakeoptions DEBUG") + 1 == said.index("makeoptions DEBUG=-g")


def test_of_what_is_for_a_debugger_only_lines_are_made():
    lines = "makeoptions DEBUG=-gline-tables-only"
    with_symbols = Base(name="G", text="include G\n", whole="makeoptions \tDEBUG=-g # symbols\n")
    assert lines in kernel_config(with_symbols, "", 0).splitlines()
    assert lines not in kernel_config(PLAIN, "", 0)
    assert "nomakeoptions WITH_CTF" in kernel_config(PLAIN, "", 0).splitlines()


@needs_clang
def test_modules_do_not_guard_their_stacks_where_the_compiler_is_not_freebsds(builder, tmp_path):
    """Other clangs reach the guard in a way that a kernel cannot link a module by."""
    for tool, guarded in (("make", True), ("make.py", False)):
        assert builder.build(tool=tool) == DONE
        unpack(builder.archive, tmp_path / tool)
        assert (b"guarded" in (tmp_path / tool / "if_em.ko").read_bytes()) is guarded


def test_a_module_is_found_by_the_directory_that_makes_it(builder, capsys):
    assert builder.build("--modules=igb") == DONE
    assert "igb is built by em" in capsys.readouterr().out
    assert "if_igb.ko" in builder.packed()


def test_what_the_workloads_load_comes_along_unless_none_is_wanted(builder):
    assert builder.build("--modules=em") == DONE
    assert "pf.ko" in builder.packed()
    assert builder.build("--modules=none") == DONE
    assert "pf.ko" not in builder.packed()


def test_a_module_that_the_kernel_has_is_not_built_besides():
    based = Base(name="G", text="", whole="device pf # filter\ndevice md\nnodevice md\n")
    assert built_in(based, "options IPFIREWALL\noptions IPFIREWALL_NAT") >= {"pf", "ipfw"}
    assert "md" not in built_in(based, "")
    assert "pf" not in built_in(based, "nodevice pf")


def test_the_workloads_modules_are_left_out_where_the_kernel_has_them(builder):
    (builder.source / "sys" / "conf" / "files").write_text("pf\n")
    assert builder.build(options="device pf") == DONE
    assert "pf.ko" not in builder.packed()


@pytest.mark.parametrize("name", ["emm", "../em", "em;reboot"])
def test_a_module_that_the_tree_does_not_have_is_the_jobs_mistake(builder, capsys, name):
    assert builder.build(f"--modules={name}") == USAGE
    assert "the tree has no module" in capsys.readouterr().err
