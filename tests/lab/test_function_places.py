"""In which file and line functions begin, as an outside program reads it from line tables."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.lab.drivers import qemu
from buildbot_bench.lab.virtual import trace
from buildbot_bench.lab.virtual.trace import Symbols, places_of, read_symbols, symbolizer

HEADER = """\
static inline __attribute__((always_inline)) int twice(int a)
{
\treturn (a * 2);
}
"""
INPUT = """\
#include "inline.h"
static int __attribute__((noinline)) same(int a)
{
\treturn (a + 1);
}

int
ip_input(int a)
{
\treturn (same(a) * 2);
}

int
begins_inlined(int a)
{
\treturn (twice(a));
}
"""
MAIN = """\
int ip_input(int);

static int __attribute__((noinline)) same(int a)
{
\treturn (a + 3);
}

int
main(void)
{
\treturn (ip_input(same(1)));
}
"""
CASES = [
    (compiler, flags, program)
    for compiler, flags in (("gcc", "-g"), ("clang", "-g"), ("clang", "-gline-tables-only"))
    for program in ("addr2line", "llvm-symbolizer")
]

Build = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compiles a program as if its sources lay in /usr/src, and splits the debug file off."""

    def make(compiler: str, flags: str) -> Path:
        if shutil.which(compiler) is None or shutil.which("objcopy") is None:
            pytest.skip(f"needs {compiler} and objcopy")
        source = tmp_path / "src"
        (source / "sys" / "kern").mkdir(parents=True)
        files = {"sys/ip_input.c": INPUT, "sys/kern/main.c": MAIN}
        (source / "sys" / "inline.h").write_text(HEADER)
        for name, text in files.items():
            (source / name).write_text(text)
        kernel = tmp_path / "kernel"
        options = ["-O1", flags, f"-ffile-prefix-map={source}=/usr/src", "-o", str(kernel)]
        paths = [str(source / name) for name in files]
        subprocess.run([compiler, *options, *paths], check=True, timeout=60)
        debug = tmp_path / "kernel.debug"
        subprocess.run(["objcopy", "--only-keep-debug", kernel, debug], check=True, timeout=60)
        subprocess.run(["objcopy", "--strip-debug", kernel], check=True, timeout=60)
        return kernel

    return make


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Leaves nothing on PATH but one program, under a name, if any."""
    directory = tmp_path / "bin"
    directory.mkdir()

    def leave(name: str = "", program: str | Path = "") -> Path:
        if name:
            (directory / name).symlink_to(shutil.which(program) or program)
        monkeypatch.setenv("PATH", str(directory))
        return directory / name

    return leave


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def at(symbols: Symbols, name: str, *, which: int = 0) -> int:
    """An address within a function, behind its first."""
    begins = [a for a, n in zip(symbols.addresses, symbols.names, strict=True) if n == name]
    return begins[which] + 1


@pytest.mark.parametrize(("compiler", "flags", "program"), CASES)
def test_executed_functions_are_placed_as_git_has_them(build, only, compiler, flags, program):
    kernel = build(compiler, flags)
    symbols = read_symbols(kernel)
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    only(program, program)
    executed = [at(symbols, name) for name in ("ip_input", "begins_inlined", "main")]
    executed += [executed[0] + 1, 0]
    found = places_of(executed, symbols, kernel.with_suffix(".debug"))
    assert found.keys() == {"ip_input", "begins_inlined", "main"}
    assert found["ip_input"] in {f"sys/ip_input.c:{line}" for line in (8, 9, 10)}
    assert found["begins_inlined"] in {f"sys/ip_input.c:{line}" for line in (14, 15, 16)}
    assert found["main"] in {f"sys/kern/main.c:{line}" for line in (9, 10, 11)}


def test_of_one_name_the_function_that_was_executed_is_meant_and_of_both_neither(build):
    kernel = build("gcc", "-g")
    symbols, debug = read_symbols(kernel), kernel.with_suffix(".debug")
    first, second = at(symbols, "same"), at(symbols, "same", which=1)
    files = [places_of([one], symbols, debug)["same"].split(":")[0] for one in (first, second)]
    assert sorted(files) == ["sys/ip_input.c", "sys/kern/main.c"]
    assert places_of([first, second], symbols, debug) == {}


def test_without_line_tables_a_file_or_a_program_there_are_no_places(build, only):
    kernel = build("gcc", "-g")
    symbols = read_symbols(kernel)
    executed = [at(symbols, "main")]
    assert places_of(executed, symbols, kernel.with_name("absent")) == {}
    assert places_of([], symbols, kernel) == {}
    no_tables = kernel.with_name("bare")
    shutil.copyfile(kernel, no_tables)
    assert places_of(executed, symbols, no_tables) == {}
    only()
    assert symbolizer() is None
    assert places_of(executed, symbols, kernel.with_suffix(".debug")) == {}


@pytest.mark.parametrize("name", ["llvm-symbolizer-14", "llvm-symbolizer19"])
def test_a_program_with_its_version_in_its_name_will_do(only, name):
    assert symbolizer() != (path := only(name, "true"))
    assert symbolizer() == str(path)


def test_the_newest_of_several_is_taken(only, tmp_path):
    only()
    for version in (9, 14, 13):
        script(tmp_path / "bin" / f"llvm-symbolizer-{version}", "exit 0")
    assert symbolizer() == str(tmp_path / "bin" / "llvm-symbolizer-14")


KNOWN = Symbols(addresses=(16, 32), names=("f", "g"))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("0x10 sys/a.c:1 0x20 /usr/src/sys/b.c:2", {"f": "sys/a.c:1", "g": "sys/b.c:2"}),
        ("0x20 h.h:1 b.c:2 0x0000000000000010 a.c:1", {"f": "a.c:1", "g": "b.c:2"}),
        ("0x10 ??:0 0x20 'b.c:2 (discriminator 3)'", {"g": "b.c:2"}),
        ("0x10 ??:? 0x20 nonsense", {}),
        ("0x10 a.c:1 0x99 c.c:1", {"f": "a.c:1"}),
        ("0x10 a.c:1 0x20", {"f": "a.c:1"}),
        ("a.c:1 b.c:2", {}),
        ("0x10 a.c:1 0x20 '\\377'", {"f": "a.c:1"}),
        ("", {}),
    ],
)
def test_what_the_program_says_is_taken_as_far_as_it_makes_sense(
    tmp_path, monkeypatch, words, found
):
    program = script(tmp_path / "addr2line", f"printf '%b\\n' {words}")
    monkeypatch.setattr(trace, "symbolizer", lambda: str(program))
    assert places_of([17, 33], KNOWN, tmp_path / "kernel") == found


@pytest.mark.parametrize("what", ["sleep 60", "yes"])
def test_a_program_that_does_not_end_is_ended(tmp_path, monkeypatch, what):
    program = script(tmp_path / "addr2line", f"exec {what}")
    monkeypatch.setattr(trace, "symbolizer", lambda: str(program))
    monkeypatch.setattr(trace, "_LIMIT_S", 0.2)
    assert places_of([17], KNOWN, tmp_path / "kernel") == {}


def test_a_program_that_cannot_be_run_is_like_none(tmp_path, monkeypatch):
    monkeypatch.setattr(trace, "symbolizer", lambda: str(tmp_path / "gone"))
    assert places_of([17], KNOWN, tmp_path / "kernel") == {}


def test_the_program_asks_no_network(tmp_path, monkeypatch):
    monkeypatch.setenv("DEBUGINFOD_URLS", "https://debuginfod.example.org/")
    program = script(tmp_path / "addr2line", 'echo 0x10; echo "a${DEBUGINFOD_URLS}.c:1"')
    monkeypatch.setattr(trace, "symbolizer", lambda: str(program))
    assert places_of([17], KNOWN, tmp_path / "kernel") == {"f": "a.c:1"}


def test_a_check_up_says_what_to_install_and_finds_nothing_amiss(only):
    only()
    finding = qemu._line_tables()
    assert finding.fine
    assert "install llvm (llvm-symbolizer) or binutils (addr2line)" in finding.detail
    os.environ["PATH"] += os.pathsep + "/usr/bin"
    assert "reads them" in qemu._line_tables().detail
