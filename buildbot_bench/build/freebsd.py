"""The recipe for a FreeBSD kernel, as commands of its own build system; it runs none of them.

See build(7), src.conf(5) and tools/build/make.py of the tree. `make.py` builds on Linux, by
clang and lld of the host; it came to the tree in September 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from buildbot_bench.build import kernconf
from buildbot_bench.build.running import Command

Tool = Literal["make", "make.py"]
TOOLS: tuple[Tool, ...] = ("make", "make.py")
_STEPS = ("kernel-toolchain", "buildkernel", "installkernel")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What is built of which tree, and how.

    `modules` None: all; else those named, as in sys/modules (`em`). `obj` is the object tree that
    is kept; `cross_bin` is the directory of clang and ld.lld for make.py; `ccache` is a program;
    `more` are further words for make.
    """

    source: Path
    obj: Path
    tool: Tool
    jobs: int
    target: str = "amd64"
    target_arch: str = "amd64"
    modules: Sequence[str] | None = None
    cross_bin: Path | None = None
    ccache: Path | None = None
    more: Sequence[str] = ()

    @property
    def config_directory(self) -> Path:
        """Where the kernel configuration is written, outside of the source tree."""
        return self.obj / "bench-conf"

    @property
    def stage(self) -> Path:
        """Where the kernel is installed before it is packed."""
        return self.obj / "bench-stage"

    @property
    def variables(self) -> tuple[str, ...]:
        """The make variables that say what is built; the same for each of the commands."""
        return (
            *_modules(self.modules),
            f"TARGET={self.target}",
            f"TARGET_ARCH={self.target_arch}",
            f"KERNCONF={kernconf.NAME}",
            f"KERNCONFDIR={self.config_directory}",
            "WITH_REPRODUCIBLE_BUILD=yes",
            "WITHOUT_KERNEL_SYMBOLS=yes",
            *(("WITH_META_MODE=yes",) if self.tool == "make" else ()),
            *(("WITH_CCACHE_BUILD=yes", f"CCACHE_BIN={self.ccache}") if self.ccache else ()),
            *self.more,
        )


def commands(recipe: Recipe) -> Iterator[Command]:
    """Tool chain, kernel, installation into the stage; each builds only what is out of date."""
    env = {"MAKEOBJDIRPREFIX": str(recipe.obj), "LC_ALL": "C"}
    for step in _STEPS:
        to_stage = ("NO_ROOT=yes", f"DESTDIR={recipe.stage}") if step == "installkernel" else ()
        words = (*_make(recipe), f"-j{recipe.jobs}", *recipe.variables, *to_stage, step)
        yield Command(words=words, cwd=recipe.source, env=env)


def _make(recipe: Recipe) -> tuple[str, ...]:
    if recipe.tool == "make":
        return ("make", "NO_CLEAN=yes")
    cross = (f"--cross-bindir={recipe.cross_bin}",) if recipe.cross_bin else ()
    return ("python3", "tools/build/make.py", "--no-clean", *cross)


def _modules(modules: Sequence[str] | None) -> tuple[str, ...]:
    if modules is None:
        return ()
    return (f"MODULES_OVERRIDE={' '.join(modules)}",) if modules else ("NO_MODULES=yes",)
