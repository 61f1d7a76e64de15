"""Kernels of the embedded testbed, compiled for a test: sound, slow or failing."""

import subprocess
from importlib import resources
from pathlib import Path

MISBEHAVING = Path(__file__).parents[1] / "lab" / "misbehaving_kernel.c"


def sound_kernel(directory: Path, *defines: str) -> Path:
    """The kernel of the demonstration as its first commit has it."""
    sources = resources.files("buildbot_bench.demo") / "kernel" / "src"
    files = sorted(str(entry) for entry in sources.iterdir() if entry.name.endswith(".c"))
    return compile_kernel(directory / "kernel", *files, *defines)


def misbehaving_kernel(directory: Path, way: str) -> Path:
    return compile_kernel(directory / f"kernel-{way.lower()}", f"-DWAY={way}", str(MISBEHAVING))


def compile_kernel(target: Path, *arguments: str) -> Path:
    subprocess.run(["cc", "-O2", "-std=gnu11", "-o", str(target), *arguments], check=True)
    return target
