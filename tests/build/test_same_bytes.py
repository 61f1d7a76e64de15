"""The same code is the same digest, wherever and whenever it is built."""

import os
import shutil
import subprocess

from tests.build.builder import DONE, needs_lld
from tests.unpacking import unpack


def test_another_directory_and_other_objects_give_the_same_digest(builder):
    assert builder.build() == DONE
    first = builder.digest()
    elsewhere = builder.home / "elsewhere" / "deep"
    shutil.copytree(builder.source, elsewhere)
    assert builder.build(f"--source={elsewhere}", f"--obj={builder.home / 'obj2'}") == DONE
    assert builder.digest() == first


def test_no_path_of_the_builder_is_in_what_is_loaded(builder, tmp_path):
    assert builder.build() == DONE
    unpack(builder.archive, tmp_path / "unpacked")
    kernel = (tmp_path / "unpacked" / "kernel").read_bytes()
    assert b"/usr/src/sys/kern/main.c" in kernel
    assert os.fsencode(builder.home) not in kernel


def test_what_is_for_a_debugger_is_packed_and_does_not_count(builder):
    assert builder.build() == DONE
    first = builder.digest()
    builder.edit("sys/kern/main.c", "const char version", "/* why */\n\nconst char version")
    assert builder.build() == DONE
    assert "kernel.debug" in builder.packed()
    assert builder.digest() == first


def test_the_digest_is_told(builder, capsys):
    assert builder.build() == DONE
    assert f"digest: {builder.digest()}" in capsys.readouterr().out


def test_a_flag_of_the_variant_compiles_anew_and_back(builder):
    assert builder.build() == DONE
    plain = builder.digest()
    assert builder.build(options="makeoptions CONF_CFLAGS=-O3") == DONE
    assert builder.digest() != plain
    assert builder.build() == DONE
    assert builder.digest() == plain


@needs_lld
def test_an_image_and_back_is_the_plain_kernel(builder):
    assert builder.build() == DONE
    plain = builder.digest()
    assert builder.build(image=1) == DONE
    assert builder.build() == DONE
    assert builder.digest() == plain


def test_the_configuration_may_have_flags_of_its_own(builder):
    mine = builder.home / "MINE"
    mine.write_text('include GENERIC\nmakeoptions CONF_CFLAGS="-O1 -DMINE"\n')
    assert builder.build(f"--kernconf={mine}") == DONE
    log = (builder.obj / "bench-build.log").read_text()
    assert "-O1 -DMINE -ffile-prefix-map=" in log


def test_bsd_make_and_gnu_make_leave_the_tree_as_it_was(builder):
    subprocess.run(["git", "init", "-q", str(builder.source)], check=True)
    before = sorted(builder.source.rglob("*"))
    assert builder.build() == DONE
    assert sorted(builder.source.rglob("*")) == before
