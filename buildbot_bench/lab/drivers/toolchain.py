"""The C programs of a testbed, compiled on the machine that runs them."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.programs import answer_of

PKTBLAST = "pktblast"
CONTROL = "control"
SAMPLER = "sampler.so"
_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    PKTBLAST: ("pktblast.c", "packet.c", "burst.c", "process.c"),
    CONTROL: ("control.c", "packet.c", "burst.c"),
}
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
_LIBRARY_FLAGS = ("-shared", "-fPIC")
_COMPILE_S = 120.0  # for a small program, on a machine however busy


def compiler() -> str | None:
    """Where the C compiler is: $CC, else cc; None when there is none."""
    return shutil.which(os.environ.get("CC", "cc"))


def tools(home: Path) -> Path:
    """The directory with the compiled programs; compiles them when sources or flags are new."""
    sources = resources.files("buildbot_bench.lab.drivers") / "generator"
    with resources.as_file(sources) as directory:
        target = home / "tools" / fingerprint(_FLAGS, sorted(directory.glob("*.[ch]")))
        if all((target / name).exists() for name in _PROGRAMS):
            return target
        target.mkdir(parents=True, exist_ok=True)
        for name, files in _PROGRAMS.items():
            compile_program(target / name, [str(directory / file) for file in files], _FLAGS)
    return target


def sampler(home: Path) -> Path:
    """The library that samples what it is preloaded into; InfraError where it does not compile."""
    target = tools(home) / SAMPLER
    if not target.exists():
        source = resources.files("buildbot_bench.lab.drivers") / "generator" / "sampler.c"
        with resources.as_file(source) as path:
            compile_program(target, [str(path)], (*_FLAGS, *_LIBRARY_FLAGS))
    return target


def compile_program(target: Path, sources: Sequence[str], flags: Sequence[str]) -> None:
    """Compile and link C or assembler files."""
    cc = compiler()
    if cc is None:
        raise InfraError("there is no C compiler", hint="install one, or say which by CC")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    command = [cc, *flags, "-o", str(unfinished), *sources]
    result = answer_of(command, deadline_s=_COMPILE_S)
    if result.returncode != 0:
        raise InfraError(
            f"the testbed's {target.name} does not compile: {result.stderr[-2000:]}",
            hint=f"try {' '.join(command)}",
        )
    unfinished.replace(target)


def fingerprint(flags: Sequence[str], sources: Iterable[Traversable]) -> str:
    """What tells a program from one of other sources or flags; the order of both counts."""
    digest = hashlib.sha256(" ".join(flags).encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
