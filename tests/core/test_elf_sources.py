"""Which sources a program was linked from, by its own symbols."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.elf import MAGIC, source_names


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


def test_what_is_no_program_names_none() -> None:
    assert source_names(b"#!/bin/sh\n") == frozenset()


@given(st.data())
def test_a_damaged_program_harms_nobody(program: bytes, data) -> None:
    damaged = bytearray(program)
    for _ in range(5):
        damaged[data.draw(st.integers(0, len(program) - 1))] = data.draw(st.integers(0, 255))
    source_names(bytes(damaged))


@given(st.binary(max_size=300))
def test_strange_bytes_harm_nobody(rest: bytes) -> None:
    source_names(MAGIC + rest)
