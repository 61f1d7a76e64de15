"""The recipe for a FreeBSD kernel: commands of its own build system, and what a machine needs."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from buildbot_bench.build import kernconf
from buildbot_bench.build.journal import BuildCommand, refusal
from buildbot_bench.build.toolchains import Toolchain
from buildbot_bench.core.build_log import Stage
from buildbot_bench.core.errors import InfraError

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


_MEGABYTE = 1 << 20
# 13 draws the order of a link; it is also about the oldest that takes the kernels of 13.
_OLDEST_CLANG = 13


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """A thing that a build calls or includes, and the package that has it on each system."""

    name: str
    debian: str
    fedora: str
    freebsd: str = "the base system"
    elsewhere_only: bool = False  # FreeBSD's own compilers and headers do there

    @property
    def remedy(self) -> str:
        """What to install, on each system."""
        packages = f"Debian: {self.debian}; Fedora: {self.fedora}"
        return packages if self.elsewhere_only else f"{packages}; FreeBSD: {self.freebsd}"


PROGRAMS = (
    Need(name="python3", debian="python3", fedora="python3", freebsd="python3"),
    Need(name="git", debian="git", fedora="git", freebsd="git"),
    Need(name="cc", debian="gcc", fedora="gcc"),
    Need(name="c++", debian="g++", fedora="gcc-c++"),
    Need(name="cpp", debian="cpp", fedora="cpp"),
    Need(name="clang", debian="clang", fedora="clang", elsewhere_only=True),
    Need(name="ld.lld", debian="lld", fedora="lld", elsewhere_only=True),
    Need(name="strip", debian="binutils", fedora="binutils"),
    # What the tree's own tools are linked to, and its scripts call.
    Need(name="awk", debian="gawk", fedora="gawk"),
    Need(name="bash", debian="bash", fedora="bash", elsewhere_only=True),
    Need(name="bzip2", debian="bzip2", fedora="bzip2"),
    Need(name="lex", debian="flex", fedora="flex", elsewhere_only=True),
    Need(name="yacc", debian="byacc", fedora="byacc", elsewhere_only=True),
    Need(name="hostname", debian="hostname", fedora="hostname"),
    Need(name="patch", debian="patch", fedora="patch"),
    Need(name="which", debian="debianutils", fedora="which"),
    Need(name="xz", debian="xz-utils", fedora="xz"),
)
# What the tools of the tree include that are built for Linux: ar, grep, the elftoolchain.
HEADERS = (
    Need(name="archive.h", debian="libarchive-dev", fedora="libarchive-devel"),
    Need(name="bzlib.h", debian="libbz2-dev", fedora="bzip2-devel"),
    Need(name="zlib.h", debian="zlib1g-dev", fedora="zlib-ng-compat-devel"),
    Need(name="sys/cdefs.h", debian="libc6-dev", fedora="glibc-devel"),
)


def check(obj: Path, least_free_mb: int, *, say: Callable[[str], object] = print) -> None:
    """Say of each thing that a build needs whether it is here."""
    found = list(_needs_met(obj, least_free_mb))
    for is_there, line in found:
        say(f"{'ok' if is_there else 'missing'}: {line}")
    missing = sum(not is_there for is_there, _ in found)
    if missing:
        raise InfraError(f"this machine lacks {missing} of {len(found)}", hint="install them")


def _needs_met(obj: Path, least_free_mb: int) -> Iterator[tuple[bool, str]]:
    elsewhere = platform.system() != "FreeBSD"
    for need in PROGRAMS:
        if elsewhere or not need.elsewhere_only:
            path = shutil.which(need.name)
            yield path is not None, f"{need.name}: {path or f'install {need.remedy}'}"
    if elsewhere:
        yield from _clang()
        for need in HEADERS:
            text = f"#include <{need.name}>\n"
            yes = not refusal(["cc", "-E", "-xc", "-"], "cc", given=text)
            yield yes, need.name if yes else f"{need.name}: install {need.remedy}"
    version = ".".join(map(str, sys.version_info[:3]))
    yield sys.version_info >= (3, 11), f"Python {version}, 3.11 or newer is needed"
    yield _disk(obj, least_free_mb)


def _clang() -> Iterator[tuple[bool, str]]:
    clang = shutil.which("clang")
    if clang is None:
        return
    linker = Path(clang).resolve().parent / "ld.lld"
    yield linker.is_file(), f"{linker}: the linker beside clang"
    with tempfile.TemporaryDirectory() as directory:
        words = [clang, "-target", "x86_64-unknown-freebsd13.1", "-c", "-o", f"{directory}/a.o"]
        words += ["-ffile-prefix-map=/a=/b", "-gline-tables-only", "-xc", "-"]
        text = f"#if __clang_major__ < {_OLDEST_CLANG}\n#error\n#endif\nint a;\n"
        done = not refusal(words, "clang", given=text)
    yield done, f"{clang}: {_OLDEST_CLANG} or newer, with FreeBSD among its targets"


def _disk(obj: Path, least_free_mb: int) -> tuple[bool, str]:
    place = next(path for path in (obj, *obj.parents) if path.is_dir())
    free_mb = shutil.disk_usage(place).free // _MEGABYTE
    return free_mb >= least_free_mb, f"{free_mb} MB free at {place}, {least_free_mb} are needed"
