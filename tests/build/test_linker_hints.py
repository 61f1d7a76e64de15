"""The index of modules, of modules compiled by a real compiler; read as the kernel reads it."""

import platform
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from buildbot_bench.build.outcome import write_hints
from buildbot_bench.core.elf import linker_hints

needs_amd64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="cc makes other modules")

# What MODULE_VERSION and DECLARE_MODULE of FreeBSD's sys/module.h come to.
MODULE = """\
struct metadata { int version; int type; const void *data; const char *name; };
static int number = 7;
static struct metadata depends = { 1, 1, &number, "kernel" };
static struct metadata module = { 1, 2, &number, "pf" };
static struct metadata version = { 1, 3, &number, "pf" };
static void *const set[] __attribute__((section("set_modmetadata_set"), used)) =
    { &depends, &version, &module };
"""


def compiled(directory: Path, name: str, text: str = MODULE) -> Path:
    (directory / "module.c").write_text(text)
    path = directory / name
    subprocess.run(
        ["cc", "-c", "-o", str(path), str(directory / "module.c")],
        check=True,
    )
    return path


def records(index: bytes) -> Iterator[tuple[int, bytes, int, bytes]]:
    """Kind, name, version and file of each record."""
    at = 4
    while at < len(index):
        length, kind = struct.unpack_from("<ii", index, at)
        record, start = index[at + 4 : at + 4 + length], 5 + index[at + 8]
        name, version = record[5:start], 0
        if kind == 3:
            start += -start % 4
            (version,) = struct.unpack_from("<i", record, start)
            start += 4
        yield kind, name, version, record[start + 1 : start + 1 + record[start]]
        at += 4 + length


@needs_amd64
def test_a_kernel_finds_the_file_and_version_of_a_module(tmp_path):
    index = linker_hints({"pf.ko": compiled(tmp_path, "pf.ko").read_bytes()})
    assert struct.unpack_from("<i", index) == (1,)
    assert list(records(index)) == [(2, b"pf", 0, b"pf.ko"), (3, b"pf", 7, b"pf.ko")]


def test_what_declares_nothing_has_no_index(tmp_path):
    plain = compiled(tmp_path, "x.ko", "int x;\n").read_bytes()
    assert linker_hints({"x.ko": plain, "text.ko": b"no module", "empty.ko": b""}) == b""


@needs_amd64
def test_a_damaged_module_is_left_out(tmp_path):
    whole = compiled(tmp_path, "pf.ko").read_bytes()
    sound = list(records(linker_hints({"pf.ko": whole})))
    for place in range(0, len(whole), 7):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        version_of = list(records(linker_hints({"a.ko": damaged, "pf.ko": whole})))
        assert [record for record in version_of if record[3] == b"pf.ko"] == sound


@needs_amd64
def test_it_is_written_once_and_links_do_not_count(tmp_path):
    directory = tmp_path / "kernel"
    directory.mkdir()
    compiled(tmp_path, "kernel/if_em.ko")
    (directory / "if_igb.ko").symlink_to("if_em.ko")
    write_hints(directory)
    index = (directory / "linker.hints").read_bytes()
    assert {file for *_, file in records(index)} == {b"if_em.ko"}
    (directory / "linker.hints").write_bytes(b"kldxref's own")
    write_hints(directory)
    assert (directory / "linker.hints").read_bytes() == b"kldxref's own"
