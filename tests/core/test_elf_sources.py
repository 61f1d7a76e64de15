"""Which sources a program was linked from, by its own symbols, and what it takes in memory."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.elf import MAGIC, Sizes, sections, sizes, source_names
from tests.core.elf_files import DATA, DEBUG, NOBITS, WRITE, Part, elf
from tests.running import ran


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    there = tmp_path_factory.mktemp("program")
    (there / "sys").mkdir()
    (there / "sys" / "main.c").write_text("static int x; int main(void) { return x; }\n")
    (there / "other.c").write_text("static int y; int other(void) { return y; }\n")
    command = ["cc", "-o", "program", "sys/main.c", "other.c"]
    subprocess.run(command, cwd=there, check=True)
    return (there / "program").read_bytes()


def test_a_program_names_its_sources(program: bytes) -> None:
    assert source_names(program) >= {"main.c", "other.c"}


@pytest.mark.skipif(shutil.which("size") is None, reason="there is no size(1): install binutils")
def test_its_sizes_are_those_of_size(program: bytes, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(program)
    command = ["size", "--format=berkeley", tmp_path / "program"]
    told = ran(command, check=True).stdout
    counted = sizes(program)
    assert counted == tuple(map(int, told.splitlines()[1].split()[:3]))
    assert min(counted) > 0


def test_what_is_no_program_names_none() -> None:
    assert source_names(b"#!/bin/sh\n") == frozenset()
    assert sizes(b"#!/bin/sh\n") is None
    assert sizes(elf(Part(name=".debug", content=b"x", flags=DEBUG))) is None


def test_a_size_that_no_kernel_has_is_none() -> None:
    bss = Part(name=".bss", content=b"\xaa" * 7, flags=DATA | WRITE, kind=NOBITS)
    kernel = elf(bss)
    assert sizes(kernel) == Sizes(text=0, data=0, bss=7)
    at = kernel.rindex(struct.pack("<QQ", 1 << 20, 7))
    claimed = struct.pack("<Q", (1 << 64) - 1)
    hostile = kernel[: at + 8] + claimed + kernel[at + 16 :]
    assert sections(hostile)
    assert sizes(hostile) is None


@given(st.data())
def test_a_damaged_program_harms_nobody(program: bytes, data) -> None:
    damaged = bytearray(program)
    for _ in range(5):
        damaged[data.draw(st.integers(0, len(program) - 1))] = data.draw(st.integers(0, 255))
    source_names(bytes(damaged))
    sizes(bytes(damaged))


@given(st.binary(max_size=300))
def test_strange_bytes_harm_nobody(rest: bytes) -> None:
    source_names(MAGIC + rest)
