"""Kernels of the embedded testbed, compiled for a test: sound, slow or failing."""

import subprocess
from importlib import resources
from pathlib import Path

from buildbot_bench.demo.generated_history import read_patch, source_files
from tests.edits import edited, edits_of

MISBEHAVING = Path(__file__).parents[1] / "lab" / "misbehaving_kernel.c"


def sound_kernel(directory: Path, *defines: str) -> Path:
    """The kernel of the demonstration as its first commit has it."""
    sources = resources.files("buildbot_bench.demo") / "kernel" / "src"
    files = sorted(str(entry) for entry in sources.iterdir() if entry.name.endswith(".c"))
    return compile_kernel(directory / "kernel", *files, *defines)


def planted_kernel(directory: Path, planted: str) -> Path:
    """The same with what the demonstration may plant: slowdown, drops or batching."""
    files = source_files("kernel")
    edited(files, edits_of(read_patch("embedded", f"{planted}.patch")))
    sources = directory / planted
    for name, text in files.items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text(text, encoding="utf-8")
    return compile_kernel(sources / "kernel", *map(str, sorted(sources.glob("src/*.c"))))


def misbehaving_kernel(directory: Path, way: str) -> Path:
    return compile_kernel(directory / f"kernel-{way.lower()}", f"-DWAY={way}", str(MISBEHAVING))


def compile_kernel(target: Path, *arguments: str) -> Path:
    subprocess.run(["cc", "-O2", "-std=gnu11", "-o", str(target), *arguments], check=True)
    return target
