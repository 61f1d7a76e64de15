"""Kernels for virtual machines, compiled for a test: of any commit, or failing."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from buildbot_bench.demo.cli import CHANGES, IMPORT, SOURCES
from buildbot_bench.demo.generated_history import patched_commits
from tests.edits import Edit, edited

PROGRAM = "qemu-system-x86_64"

_FORWARD = "src/forward.c"


def failing_under_traffic(how: str) -> tuple[Edit, ...]:
    """Edits by which a kernel that forwarded well does what is written in C.

    A slow boot asks by up to 150 packets whether it forwards; 448 follow.
    """
    place = "static bool\nis_sound("
    function = f"static int seen;\n\nstatic void\nfail(void)\n{{\n\t{how}\n}}\n\n"
    includes = '#include "console.h"\n#include "e1000.h"\n#include "io.h"\n'
    count = "\tif (++seen == 300)\n\t\tfail();\n\tdecrement_ttl(ip);\n"
    return (
        Edit(path=_FORWARD, old="\tdecrement_ttl(ip);\n", new=count),
        Edit(path=_FORWARD, old=place, new=function + place),
        Edit(path=_FORWARD, old='#include "e1000.h"\n', new=includes),
    )


def need_machine() -> None:
    """Skip a test where no virtual machine can run, and say why."""
    if shutil.which(PROGRAM) is None:
        pytest.skip(f"there is no {PROGRAM}: install qemu-system-x86")
    command = "cc -m32 -ffreestanding -nostdlib -static -no-pie -Wl,-e,main -x c - -o /dev/null"
    program = b"int main(void) { return 0; }"
    tried = subprocess.run(command.split(), input=program, capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("cc makes no 32-bit program for x86 (-m32)")


def build(directory: Path, files: dict[str, str], *settings: str) -> Path:
    """What `make kernel` makes of these files."""
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    subprocess.run(["make", "-s", "-C", str(directory), *settings, "kernel"], check=True)
    return directory / "kernel"


def sources(label: str = IMPORT.label, edits: Sequence[Edit] = ()) -> dict[str, str]:
    """The files as a commit of the history has them, after edits of one's own."""
    files: dict[str, str] = {}
    for commit in patched_commits(SOURCES, IMPORT, CHANGES):
        files.update(commit.files)
        if f"r{commit.svn}" == label:
            break
    edited(files, edits)
    return files
