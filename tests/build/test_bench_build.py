"""`bench-build freebsd` on a tree with FreeBSD's targets: built, packed, kept, and told apart."""

import os
import shutil
import struct

import pytest

from buildbot_bench.archives.contents import MANIFEST_NAME, contents
from buildbot_bench.build.cli import main
from buildbot_bench.build.outcome import files_below
from buildbot_bench.core.elf import sections
from buildbot_bench.core.errors import UntestableRevision
from tests.build.builder import (
    DONE,
    ILL,
    PACKED,
    UNTESTABLE,
    USAGE,
    needs_bmake,
    needs_clang,
    needs_lld,
)
from tests.unpacking import unpack

ENTRY_AT = 24  # e_entry of an ELF file of 64 bits


def test_a_kernel_and_the_named_modules_are_packed_with_a_manifest(builder):
    assert builder.build("--modules=em") == DONE
    assert builder.packed() == PACKED
    version_of = builder.manifest()
    assert version_of.variant == "r311849 image 0"
    assert version_of.config.startswith("include GENERIC-NODEBUG; ident BENCH")
    assert "MODULES_OVERRIDE=em pf" in version_of.flags
    assert {"WITH_REPRODUCIBLE_BUILD=yes", "WITH_META_MODE=yes"} <= set(version_of.flags.split())
    assert str(builder.home) not in version_of.flags
    assert set(version_of.files) == set(PACKED) - {MANIFEST_NAME}
    assert version_of.toolchain


def test_no_modules_means_none(builder):
    assert builder.build("--modules=none") == DONE
    assert builder.packed() == [MANIFEST_NAME, "kernel", "kernel.debug"]
    assert "NO_MODULES=yes" in builder.manifest().flags


@needs_bmake
def test_freebsds_own_make_reads_it_alike(builder):
    programs = builder.home / "bin"
    programs.mkdir()
    (programs / "make").symlink_to(str(shutil.which("bmake")))
    builder.monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    assert builder.build("--modules=em,igb") == DONE
    assert builder.packed() == PACKED
    assert builder.build("--make-arg=CC=no-such-cc", "--clean") == ILL


@needs_clang
def test_elsewhere_than_on_freebsd_make_py_builds_by_clang_and_lld(builder):
    assert builder.build(tool="make.py") == DONE
    assert "clang version" in builder.manifest().toolchain
    assert "LLD" in builder.manifest().toolchain


def test_options_are_lines_of_the_configuration(builder):
    assert builder.build() == DONE
    plain = contents(builder.archive)
    assert builder.build(options="options VIMAGE\nnooptions INVARIANTS") == DONE
    assert "options VIMAGE; nooptions INVARIANTS" in builder.manifest().config
    assert contents(builder.archive).kernel_digest != plain.kernel_digest


def test_a_change_of_the_version_alone_is_another_archive_of_the_same_kernel(builder):
    assert builder.build() == DONE
    first, plain = builder.archive.read_bytes(), contents(builder.archive)
    builder.edit("sys/kern/main.c", "n262112-4f4e8f2d1b4a", "n262113-0123456789ab")
    assert builder.build() == DONE
    assert builder.archive.read_bytes() != first
    assert contents(builder.archive).kernel_digest == plain.kernel_digest


@needs_lld
def test_further_images_are_the_same_code_in_another_order(builder):
    digests = set()
    for image in (0, 1, 2):
        assert builder.build(image=image) == DONE
        assert builder.manifest().variant == f"r311849 image {image}"
        digests.add(contents(builder.archive).kernel_digest)
    assert len(digests) == 3
    assert builder.build(image=1) == DONE
    assert contents(builder.archive).kernel_digest in digests


@needs_lld
def test_what_a_kernel_is_entered_by_stays_first_in_each_image(builder, tmp_path):
    for image in (1, 2, 3):
        assert builder.build(image=image) == DONE
        unpack(builder.archive, tmp_path / str(image))
        kernel = (tmp_path / str(image) / "kernel").read_bytes()
        (entry,) = struct.unpack_from("<Q", kernel, ENTRY_AT)
        (text,) = (one for one in sections(kernel) if one.name == b".text")
        assert entry == text.address


def test_a_tree_that_cannot_be_relinked_has_one_image(builder, capsys):
    builder.edit("sys/conf/kern.pre.mk", "LDFLAGS", "OTHER")
    assert builder.build() == DONE
    assert builder.build(image=1) == UNTESTABLE
    assert "one order only" in capsys.readouterr().err


def test_the_object_tree_is_kept_and_the_kernel_built_when_it_must_be(builder):
    assert builder.build() == DONE
    assert builder.build() == DONE
    assert (builder.toolchains(), builder.log("kernel")) == (1, 1)
    builder.edit("sys/kern/main.c", "x * 2", "x * 3")
    assert builder.build() == DONE
    assert builder.log("kernel") == 2


def test_it_is_emptied_when_told_and_when_the_tool_chain_is_another(builder, capsys):
    assert builder.build() == DONE
    assert builder.build("--clean") == DONE
    assert builder.log("kernel") == 1
    assert "emptied" in capsys.readouterr().out
    (builder.obj / "bench-toolchain").write_text("cc 4.2.1")
    assert builder.build() == DONE
    assert builder.log("kernel") == 1
    assert "it was made by cc 4.2.1" in capsys.readouterr().out


def test_a_directory_that_is_not_ours_is_never_emptied(builder, capsys):
    builder.obj.mkdir()
    (builder.obj / "thesis.tex").write_text("years")
    assert builder.build("--clean") == USAGE
    assert (builder.obj / "thesis.tex").exists()
    assert "no object tree of bench-build" in capsys.readouterr().err


def test_what_does_not_compile_is_untestable_with_its_first_error(builder, capsys):
    builder.edit("sys/kern/main.c", "x * 2", "y * 2")
    assert builder.build() == UNTESTABLE
    said = capsys.readouterr()
    assert "bench-build: sys/kern/main.c:2:" in said.err
    assert "error: " in said.err
    assert said.err.splitlines()[-1].removeprefix("bench-build: ") in said.out
    assert not builder.archive.exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--make-arg=CC=no-such-cc"], "no-such-cc"),
        (["--least-free=999999999"], "No space left on device"),
    ],
)
def test_a_builder_that_fails_says_nothing_of_the_revision(builder, capsys, words, complaint):
    assert builder.build(*words) == ILL
    assert complaint in capsys.readouterr().err


def test_a_target_that_the_tree_does_not_have_says_nothing_of_the_revision(builder, capsys):
    builder.edit("Makefile", "buildkernel", "linuxkernel")
    assert builder.build() == ILL
    assert "'buildkernel'" in capsys.readouterr().err


def test_a_file_that_a_revision_forgot_is_its_own_fault(builder, capsys):
    (builder.source / "sys" / "kern" / "main.c").unlink()
    assert builder.build() == UNTESTABLE
    assert "sys/kern/main.c" in capsys.readouterr().err


def test_a_word_that_the_command_does_not_have_is_the_jobs_mistake(builder, capsys):
    with pytest.raises(SystemExit) as ended:
        builder.build("--kernlconf=GENERIC")
    assert ended.value.code == USAGE
    assert "--kernlconf" in capsys.readouterr().err


def test_a_builder_without_its_tools_names_the_first_that_is_missing(builder, capsys):
    builder.monkeypatch.setenv("PATH", str(builder.home))
    assert builder.build() == ILL
    assert "cannot run make" in capsys.readouterr().err
    assert builder.build(tool="make.py") == ILL
    assert "install clang and lld" in capsys.readouterr().err


@needs_clang
def test_a_tree_from_before_make_py_needs_another_builder(builder, capsys):
    (builder.source / "tools" / "build" / "make.py").unlink()
    assert builder.build(tool="make.py") == ILL
    assert "build it on FreeBSD" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "options", "status"),
    [
        (["--kernconf=NO-SUCH"], "", UNTESTABLE),
        (["--kernconf=../../x"], "", USAGE),
        (["--target=vax"], "", USAGE),
        ([], 'options VIMAGE\nmakeoptions X="$(reboot)"', USAGE),
    ],
)
def test_bad_wishes_are_refused_in_one_line(builder, capsys, words, options, status):
    assert builder.build(*words, options=options) == status
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_dry_run_prints_the_commands_and_runs_none(builder, capsys):
    assert builder.build("-n", "--modules=em,igb") == DONE
    toolchain, kernel, install = capsys.readouterr().out.splitlines()
    assert f"MAKEOBJDIRPREFIX={builder.home}/toolchains/NEW/obj LC_ALL=C make NO" in toolchain
    assert kernel.startswith(f"env MAKEOBJDIRPREFIX={builder.obj} LC_ALL=C make NO_CLEAN=yes -j")
    assert "'MODULES_OVERRIDE=em pf'" in kernel
    assert kernel.endswith(" buildkernel")
    assert install.endswith("installkernel")
    assert not builder.obj.exists()


def test_other_systems_pack_what_they_built_themselves(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_REVISION", "v6.1")
    kernel = tmp_path / "obj" / "kernel"
    kernel.parent.mkdir()
    kernel.write_bytes(b"\x7fELF")
    output = tmp_path / "linux.txz"
    assert main(["pack", f"--output={output}", "--config=defconfig", str(kernel)]) == DONE
    held = contents(output)
    assert held.manifest is not None
    assert (held.manifest.variant, held.manifest.config) == ("v6.1 image 0", "defconfig")
    assert main(["pack", f"--output={output}", str(tmp_path / "missing")]) == UNTESTABLE


def test_a_link_in_place_of_a_kernel_is_packed_by_nobody(tmp_path, capsys):
    kernel, secret = tmp_path / "kernel", tmp_path / "password"
    secret.write_text("sesame")
    kernel.symlink_to(secret)
    assert main(["pack", f"--output={tmp_path / 'out.txz'}", str(kernel)]) == UNTESTABLE
    assert f"{kernel} is a symbolic link, which is not followed" in capsys.readouterr().err
    assert not (tmp_path / "out.txz").exists()
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "if_em.ko").write_bytes(b"\x7fELF")
    (installed / "if_igb.ko").symlink_to("if_em.ko")
    assert sorted(files_below(installed)) == ["if_em.ko", "if_igb.ko"]
    (installed / "pf.ko").symlink_to(secret)
    with pytest.raises(UntestableRevision, match=r"pf\.ko is a symbolic link that leads out"):
        files_below(installed)
