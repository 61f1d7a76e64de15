"""The build of a lab machine's userland from a FreeBSD source tree, kept by the tree's content."""

import shutil
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build import compilers
from buildbot_bench.build.checking import check
from buildbot_bench.build.compilers import Compilers
from buildbot_bench.build.freebsd import KernelRecipe, Tool, environment, make_commands, make_words
from buildbot_bench.build.journal import Journal
from buildbot_bench.build.kernel import check_tree
from buildbot_bench.build.running import BuildCommand, run, version_of
from buildbot_bench.build.toolchains import Toolchain, toolchain
from buildbot_bench.build.world_recipe import (
    CONFIGURED,
    FILES,
    LIBRARIES,
    NEEDED,
    READ,
    cplusplus_of,
    directories_of,
    left_out,
)
from buildbot_bench.core.build_log import Stage
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError

# Libraries and programs of FreeBSD 13.1; a build notes how many there were for the next one.
_FILES, _FILES_NOTED, _COMPILED = 9_000, "files", "compiled"
_SHOWN = 5  # names of what a tree lacks


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldRequest:
    """What is to be built; paths are absolute. `worlds` is where worlds are kept."""

    source: Path
    worlds: Path
    tool: Tool
    jobs: int
    least_free_mb: int
    verbose: bool


def build_world(request: WorldRequest) -> Path:
    """Build a userland, or find it; return the directory that has its `root`."""
    _check(request)
    directories = directories_of(request.source)
    standard = cplusplus_of(request.source)
    used = compilers.own() if request.tool == "make" else compilers.clang_and_lld(standard)
    if not used.takes(standard):
        raise InfraError(
            f"libc++ of {request.source} is written in {standard}, which this compiler lacks: "
            f"{used.version}",
            hint="install newer ones: Debian: clang-19 lld-19 llvm-19; Fedora: clang lld",
        )
    asked = (
        request.tool,
        used.version,
        version_of(["cc", "--version"]),
        *_words(request.source),
        *directories,
    )
    request.worlds.mkdir(parents=True, exist_ok=True)
    journal = Journal(
        log=request.worlds / "bench-build.log",
        out=sys.stdout,
        source=request.source,
        configuration=request.source / "none",
        about=lambda: _noted(request.worlds / _FILES_NOTED, _FILES),
        compiled=_noted(request.worlds / _COMPILED, 0),
        verbose=request.verbose,
    )
    of = f"{len(LIBRARIES)} libraries and {len(directories)} directories of {request.source}"
    journal.say(f"{of}: some 20 min of two quiet cores, unless kept")

    def build(made: Toolchain) -> None:
        try:
            for command in world_commands(request, used, made):
                run(command, journal)
            _complete(made)
            _note(request.worlds / _FILES_NOTED, journal.compiled)
            (request.worlds / _COMPILED).unlink(missing_ok=True)
        except BaseException:
            _note(request.worlds / _COMPILED, journal.compiled)
            raise

    with (
        closing(journal),
        toolchain(
            request.worlds,
            request.source,
            asked,
            build,
            say=journal.say,
            is_resumable=True,
            more=(*LIBRARIES, *directories, *CONFIGURED, *READ),
        ) as made,
    ):
        for objects in (made.objects, made.tools):
            shutil.rmtree(objects, ignore_errors=True)
        journal.say(f"{'built' if made.is_new else 'kept'}; times: {journal.times()}")
        journal.say(f"world: {made.place}")
        return made.place


def _check(request: WorldRequest) -> None:
    """See that the tree is whole and the builder can build it, before anything is built."""
    check_tree(request.source, "amd64", request.tool)
    directories = directories_of(request.source)
    wanted = [f"{name}/Makefile" for name in (*LIBRARIES, *directories, *CONFIGURED)]
    lacks = [name for name in (*wanted, *FILES) if not (request.source / name).is_file()]
    if lacks:
        more = f" and {len(lacks) - _SHOWN} more" if len(lacks) > _SHOWN else ""
        raise UsageError(
            f"{request.source} lacks {', '.join(lacks[:_SHOWN])}{more}",
            hint="check it out whole: `git status` says what is missing",
        )

    def say(line: str) -> None:
        if line.startswith("missing"):
            print(line)

    check(request.worlds, request.least_free_mb, say=say)


def _words(source: Path) -> tuple[str, ...]:
    return (
        "TARGET=amd64",
        "TARGET_ARCH=amd64",
        *(f"{name}=/dev/null" for name in ("__MAKE_CONF", "SRCCONF", "SRC_ENV_CONF")),
        *(f"WITHOUT_{name}=yes" for name in left_out(source)),
        "WITH_REPRODUCIBLE_BUILD=yes",
        "WITH_UNDEFINED_VERSION=yes",  # libgcc_s of 15.0 lists what clang 14 does not define
        f"_generic_libs={' '.join(LIBRARIES)}",
    )


def world_commands(
    request: WorldRequest, used: Compilers, made: Toolchain
) -> tuple[BuildCommand, ...]:
    """Return the commands that build libraries and programs and install the latter."""
    recipe = KernelRecipe(
        source=request.source,
        obj=made.objects,
        tool=request.tool,
        jobs=request.jobs,
        compilers=used.directory,
    )
    make = (*make_words(recipe), *_words(request.source), f"WORLDTMP={made.tools}")
    env = environment(recipe, made.objects)
    # Owners and modes of what a plain user installs go to METALOG; headers and archives stay away.
    to_root = (
        *(f"DESTDIR={made.root}", f"METALOG={made.place / 'METALOG'}", "NO_ROOT=yes"),
        *("DB_FROM_SRC=yes", "MK_TOOLCHAIN=no", "MK_INSTALLLIB=no"),
    )
    directories = " ".join(directories_of(request.source))
    installed = f"{' '.join(CONFIGURED)} {directories}"

    def command(at: Stage, *words: str) -> BuildCommand:
        return BuildCommand(words=(*make, *words), cwd=request.source, env=env, stage=at)

    jobs = f"-j{request.jobs}"
    shell = f"${{MAKE}} -f Makefile.inc1 install installconfig SUBDIR_OVERRIDE='{installed}'"
    enter = (f"BUILDENV_DIR={request.source}", f"BUILDENV_SHELL={shell}", "buildenv")
    return (
        *make_commands(recipe, made.objects),
        command(Stage.TOOLCHAIN, jobs, "toolchain"),
        command(Stage.WORLD, jobs, f"SUBDIR_OVERRIDE={directories}", "everything"),
        command(Stage.INSTALLATION, *to_root, "distrib-dirs"),
        command(Stage.INSTALLATION, *to_root, *enter),
    )


def _complete(made: Toolchain) -> None:
    """Add libraries and pkt-gen, which the tree does not install; see that the root is whole."""
    for directory in ("lib", "usr/lib"):
        target = made.root / directory
        target.mkdir(parents=True, exist_ok=True)
        for library in sorted((made.tools / directory).glob("*.so.*")):
            # The tree installs some of them itself, and only root writes to what is read-only.
            (target / library.name).unlink(missing_ok=True)
            shutil.copyfile(library, target / library.name, follow_symlinks=False)
    for program in made.objects.rglob("tools/tools/netmap/pkt-gen"):
        shutil.copy(program, made.root / "usr" / "bin" / program.name)
    if lacks := [name for name in NEEDED if not (made.root / name).is_file()]:
        raise UntestableRevision(f"the userland of this tree lacks {', '.join(lacks)}")


def _noted(path: Path, default: int) -> int:
    text = path.read_text() if path.is_file() else ""
    return int(text) if text.isdigit() else default


def _note(path: Path, count: int) -> None:
    path.write_text(str(count))
