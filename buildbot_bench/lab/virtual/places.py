"""The source file and line at which each function begins, asked of an outside program."""

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from buildbot_bench.core.profile.model import path_in_git
from buildbot_bench.lab.virtual.trace import Symbols

# As LLVM and binutils have them. Debian names LLVM's with its version, FreeBSD's packages with
# neither a dash nor a dot (llvm-symbolizer19).
_LLVM, _BINUTILS = "llvm-symbolizer", "addr2line"
_VERSIONED = re.compile(rf"{_LLVM}-?([0-9]{{1,2}})")
_LIMIT_S = 60.0  # the line tables of GENERIC take a second
# A packet visits some 300 functions of FreeBSD.
_MOST_FUNCTIONS = 4096
_MOST_BYTES = 1 << 20  # of the answer: 256 for each function
_ADDRESS = re.compile(r"0x([0-9a-f]{1,16})")
_ANSWER = re.compile(r"(.+):([1-9][0-9]{0,6})(?: \(discriminator [0-9]+\))?")


def symbolizer() -> str | None:
    """Where the program is: LLVM's, else binutils'; None when there is neither."""
    return shutil.which(_LLVM) or _newest_versioned() or shutil.which(_BINUTILS)


def places_of(executed: Collection[int], symbols: Symbols, file: Path) -> dict[str, str]:
    """The `path:line` of each function that one of the addresses lies in, by name.

    `file` is the ELF file with the line tables. Functions of one name at several places have none.
    """
    program = symbolizer()
    begins = sorted({begin for at in executed if (begin := symbols.begin_of(at)) is not None})
    if program is None or not begins:
        return {}
    answers = _answers(_ask(program, file, begins[:_MOST_FUNCTIONS]))
    found: dict[str, set[str]] = {}
    for begin in begins:
        found.setdefault(symbols.name_at(begin), set()).add(_place(answers.get(begin, "")))
    return {name: place for name, (place, *more) in found.items() if place and not more}


def _newest_versioned() -> str | None:
    """A program whose name ends in LLVM's version, the newest of the first directory with one."""
    for directory in os.get_exec_path():
        try:
            names = [path.name for path in Path(directory).iterdir()]
        except OSError:
            continue
        versions = {int(match[1]): name for name in names if (match := _VERSIONED.fullmatch(name))}
        for version in sorted(versions, reverse=True):
            if path := shutil.which(versions[version], path=directory):
                return path
    return None


def _ask(program: str, file: Path, addresses: Sequence[int]) -> str:
    """What the program says: each address, and behind it its lines, those inlined first."""
    if _BINUTILS in Path(program).name:
        command = [program, "-e", str(file), "--addresses", "--inlines"]
    else:
        options = ("--output-style=GNU", "--functions=none", "--addresses", "--inlines")
        command = [program, f"--obj={file}", *options]
    # Neither is to ask the network for what the file lacks.
    environment = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"0x{address:x}\n" for address in addresses).encode())
        asked.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - a list, no shell
                command,
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        except OSError:
            return ""
        return _read(process).decode("utf-8", errors="replace")


def _read(process: subprocess.Popen[bytes]) -> bytes:
    """What a process says until its end, its time or its room is over; then it is ended."""
    watch = threading.Timer(_LIMIT_S, process.kill)
    watch.start()
    try:
        with process:
            said = process.stdout.read(_MOST_BYTES) if process.stdout else b""
            process.kill()
    finally:
        watch.cancel()
    return said


def _answers(said: str) -> dict[int, str]:
    """The last line of each address; those before it are of what is inlined there."""
    found: dict[int, str] = {}
    address = -1
    for line in said.split("\n"):
        if told := _ADDRESS.fullmatch(line):
            address = int(told[1], 16)
        elif line:
            found[address] = line
    return found


def _place(answer: str) -> str:
    match = _ANSWER.fullmatch(answer)
    if match is None or match[1].startswith("??"):
        return ""
    return f"{path_in_git(match[1])}:{match[2]}"
