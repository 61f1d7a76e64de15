"""Kernels that boot as FreeBSD's do, check the loader's data, and may forward."""

import struct
import subprocess
from pathlib import Path

from buildbot_bench.lab.virtual.system import checker

_FAKES = Path(__file__).parent / "freebsd_kernel"
_MODULE = [
    "-m64",
    "-c",
    "-ffreestanding",
    "-fno-pie",
    "-mcmodel=kernel",
    "-fno-asynchronous-unwind-tables",
]


def forwarding_kernel(directory: Path, toy: Path) -> Path:
    """A checking kernel that turns into a toy kernel, a Multiboot program, when all is well."""
    flat = directory / "flat"
    subprocess.run(["objcopy", "-O", "binary", str(toy), str(flat)], check=True)
    entry = struct.unpack_from("<I", toy.read_bytes(), 24)[0]
    then = directory / "then.o"
    defines = [f'-DTHEN="{flat}"', f"-DTHEN_ENTRY={entry}"]
    source = str(_FAKES / "then.S")
    subprocess.run(["cc", "-m64", "-c", *defines, "-o", str(then), source], check=True)
    return checker(directory, str(then))


def preloaded_module(directory: Path) -> Path:
    """An object file that a checking kernel looks for among its preloaded modules."""
    target = directory / "checked.ko"
    source = str(_FAKES / "module.c")
    subprocess.run(["cc", *_MODULE, "-o", str(target), source], check=True)
    return target
