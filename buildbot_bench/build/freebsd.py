"""The recipe for a FreeBSD kernel, as commands of FreeBSD's own build system."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from buildbot_bench.build import kernconf
from buildbot_bench.build.journal import BuildCommand
from buildbot_bench.build.toolchains import Toolchain
from buildbot_bench.core.build_log import Stage

Tool = Literal["make", "make.py"]
TOOLS: tuple[Tool, ...] = ("make", "make.py")
# Where the paths of builders are said to be in what is compiled; FreeBSD's own makefiles say the
# same since 2023.
_SOURCE, _OBJECTS = "/usr/src", "/usr/obj/usr/src"
# What a kernel is not built by: compilers and linkers of the tree, and what userland needs.
_LEFT_OUT = (
    *("CLANG", "LLD", "LLDB", "LLVM_BINUTILS", "CDDL", "KERBEROS", "LOCALES", "ICONV", "BSNMP"),
    *("ZONEINFO", "BOOT", "TESTS"),
)
# make takes its environment for variables: what is kept can be none of the kernel's.
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "CCACHE_DIR", "CCACHE_CONFIGPATH", "TZ")


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelRecipe:
    """What is built of which tree, and how.

    `modules` None: all; else those named, as in sys/modules (`em`). `obj` is the object tree that
    is kept; `compilers` are the directory of clang and ld.lld, or None for cc and ld; `ccache` is a
    program; `flags` are the configuration's own for the compiler; `more` are words for make.
    """

    source: Path
    obj: Path
    tool: Tool
    jobs: int
    target: str = "amd64"
    target_arch: str = "amd64"
    modules: Sequence[str] | None = None
    compilers: Path | None = None
    ccache: Path | None = None
    flags: str = ""
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
    def tools(self) -> Path:
        """A link to the tool chain: a path that stays, no matter which it leads to."""
        return self.obj / "bench-tools"

    @property
    def machine(self) -> tuple[str, ...]:
        """The make variables that name the machine that is built for."""
        return (f"TARGET={self.target}", f"TARGET_ARCH={self.target_arch}")

    @property
    def variables(self) -> tuple[str, ...]:
        """The make variables that say what kernel is built; the same to build and to install."""
        return (
            *_modules(self.modules),
            *self.machine,
            f"KERNCONF={kernconf.NAME}",
            f"KERNCONFDIR={self.config_directory}",
            f"WORLDTMP={self.tools}",
            "WITH_REPRODUCIBLE_BUILD=yes",
            "WITHOUT_KERNEL_SYMBOLS=yes",
            # A file whose command changed is compiled anew; without filemon(4) make goes by the
            # compiler's dependency files as ever.
            "WITH_META_MODE=yes",
            "NO_FILEMON=yes",
            f"CONF_CFLAGS={' '.join(filter(None, (self.flags, *self._prefix_maps)))}",
            *(("WITH_CCACHE_BUILD=yes", f"CCACHE_BIN={self.ccache}") if self.ccache else ()),
            *self.more,
        )

    @property
    def _prefix_maps(self) -> tuple[str, str]:
        """Flags that make __FILE__ and line tables the same wherever it is built."""
        objects = f"{self.obj}{self.source}"
        return (
            f"-ffile-prefix-map={objects}={_OBJECTS}",
            f"-ffile-prefix-map={self.source}={_SOURCE}",
        )


def toolchain_words(recipe: KernelRecipe) -> tuple[str, ...]:
    """The make variables of a tool chain that a kernel can be built by."""
    return (*recipe.machine, *(f"WITHOUT_{name}=yes" for name in _LEFT_OUT))


def make_commands(recipe: KernelRecipe, objects: Path) -> tuple[BuildCommand, ...]:
    """Return the command by which make.py gets its make below `objects`; none for a system's make.

    Each place has a make of its own: its path is built into it, and a newer make.py builds it anew
    where the path is another, and stops where it is a link. make.py runs make's tests, too. Some of
    them fail where sh(1) is dash, or SIGINT is ignored; a list of tests in the environment takes
    the place of the whole.
    """
    if recipe.tool == "make":
        return ()
    return (
        BuildCommand(
            words=(*make_words(recipe), *recipe.machine, "-V", "MAKE_VERSION"),
            cwd=recipe.source,
            env={**environment(recipe, objects), "TESTS": _harmless_test(recipe.source)},
            stage=Stage.BOOTSTRAP,
        ),
    )


def toolchain_commands(recipe: KernelRecipe, made: Toolchain) -> tuple[BuildCommand, ...]:
    """The commands that build a tool chain: make itself, where it is not at hand, and the tools."""
    words = (*toolchain_words(recipe), f"WORLDTMP={made.tools}")
    tools = BuildCommand(
        words=(*make_words(recipe), f"-j{recipe.jobs}", *words, "kernel-toolchain"),
        cwd=recipe.source,
        env=environment(recipe, made.objects),
        stage=Stage.TOOLCHAIN,
    )
    return (*make_commands(recipe, made.objects), tools)


def kernel_commands(recipe: KernelRecipe) -> tuple[BuildCommand, ...]:
    """The commands that build kernel and modules and install them into the stage."""
    make = (*make_words(recipe), f"-j{recipe.jobs}", *recipe.variables)
    env = environment(recipe, recipe.obj)
    build = BuildCommand(
        words=(*make, "buildkernel"), cwd=recipe.source, env=env, stage=Stage.CONFIGURATION
    )
    to_stage = ("NO_ROOT=yes", f"DESTDIR={recipe.stage}", "installkernel")
    install = BuildCommand(
        words=(*make, *to_stage), cwd=recipe.source, env=env, stage=Stage.INSTALLATION
    )
    return (build, install)


def environment(recipe: KernelRecipe, objects: Path) -> Mapping[str, str]:
    """All the environment of a command."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **_compilers(recipe), "MAKEOBJDIRPREFIX": str(objects), "LC_ALL": "C"}


def _compilers(recipe: KernelRecipe) -> dict[str, str]:
    """An absolute path says that the compiler is none of the tree's, which is not built then."""
    if recipe.compilers is None:
        return {}
    # Debian's clang takes GNU's library for C++ where nobody says otherwise.
    return {
        "XCC": str(recipe.compilers / "clang"),
        "XCXX": f"{recipe.compilers / 'clang++'} -stdlib=libc++",
        "XCPP": str(recipe.compilers / "clang-cpp"),
        "XLD": str(recipe.compilers / "ld.lld"),
    }


def make_words(recipe: KernelRecipe) -> tuple[str, ...]:
    """The words that begin each command: the system's make, or make.py."""
    if recipe.tool == "make":
        return ("make", "NO_CLEAN=yes")
    return ("python3", "tools/build/make.py", "--no-clean")


def _harmless_test(source: Path) -> str:
    """A test of make that is nothing but comments; another, or none, in trees without it."""
    tests = source / "contrib" / "bmake" / "unit-tests"
    found = sorted(path.stem for path in tests.glob("*.mk"))
    return "comment" if "comment" in found or not found else found[0]


def _modules(modules: Sequence[str] | None) -> tuple[str, ...]:
    if modules is None:
        return ()
    return (f"MODULES_OVERRIDE={' '.join(modules)}",) if modules else ("NO_MODULES=yes",)
