"""From a wish to a packed FreeBSD kernel: configuration, object tree, commands, archive."""

from __future__ import annotations

import platform
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build.freebsd import Recipe, Tool, commands
from buildbot_bench.build.kernconf import NAME, kernel_config
from buildbot_bench.build.object_tree import emptied, prepare
from buildbot_bench.build.packing import files_below, pack
from buildbot_bench.build.running import run, told
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.manifest import Manifest


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What is to be built, as the command line and the farm say; paths are absolute.

    `variant` is for the manifest's reader; `options` are lines of the kernel configuration;
    `image` counts the orders in which the kernel is linked, 0 being the plain one.
    """

    source: Path
    obj: Path
    kernconf: str
    target: str
    target_arch: str
    modules: Sequence[str] | None
    tool: Tool
    jobs: int
    least_free_mb: int
    clean: bool
    more: Sequence[str]
    output: Path
    variant: str
    options: str
    image: int


def default_tool() -> Tool:
    """FreeBSD builds itself; elsewhere make.py brings FreeBSD's make along."""
    return "make" if platform.system() == "FreeBSD" else "make.py"


def build_kernel(wish: Wish, *, dry_run: bool = False) -> None:
    """Build and pack a kernel, or say how.

    Raises UntestableRevision when the revision does not compile, InfraError when the builder is
    ill, UsageError when there is no such tree or configuration.
    """
    config = kernel_config(wish.kernconf, wish.options, wish.image)
    recipe = _recipe(wish)
    if dry_run:
        for command in commands(recipe):
            settings = [f"{name}={value}" for name, value in command.env.items()]
            print(shlex.join(["env", *settings, *command.words]))
        return
    _check_tree(wish)
    toolchain = _toolchain(recipe)
    if why := prepare(wish.obj, toolchain, clean=wish.clean, least_free_mb=wish.least_free_mb):
        print(f"bench-build: emptied {wish.obj}: {why}", flush=True)
    recipe.config_directory.mkdir(exist_ok=True)
    _write_if_new(recipe.config_directory / NAME, config)
    emptied(recipe.stage)
    for command in commands(recipe):
        run(command)
    manifest = Manifest(
        variant=f"{wish.variant} image {wish.image}".strip(),
        config="; ".join(config.splitlines()),
        toolchain=toolchain,
        flags=" ".join(_without_paths(recipe)),
    )
    pack(files_below(recipe.stage / "boot" / "kernel"), manifest, wish.output)


def _recipe(wish: Wish) -> Recipe:
    clang = shutil.which("clang") if wish.tool == "make.py" else None
    ccache = shutil.which("ccache")
    return Recipe(
        source=wish.source,
        obj=wish.obj,
        tool=wish.tool,
        jobs=wish.jobs,
        target=wish.target,
        target_arch=wish.target_arch,
        modules=wish.modules,
        cross_bin=Path(clang).resolve().parent if clang else None,
        ccache=Path(ccache) if ccache else None,
        more=wish.more,
    )


def _check_tree(wish: Wish) -> None:
    base = wish.source / "sys" / wish.target / "conf" / wish.kernconf
    if not base.parent.is_dir():
        raise UsageError(f"{wish.source} is no FreeBSD source tree", hint="see --source, --target")
    if not base.is_file():
        raise UntestableRevision(f"the tree has no sys/{wish.target}/conf/{wish.kernconf}")
    if wish.tool == "make.py" and not (wish.source / "tools" / "build" / "make.py").is_file():
        raise InfraError(
            "the tree is too old for a builder that is not FreeBSD: it has no tools/build/make.py",
            hint="build it on FreeBSD",
        )
    rules = wish.source / "sys" / "conf" / "kern.pre.mk"
    if wish.image and "LDFLAGS" not in rules.read_text(encoding="utf-8", errors="replace"):
        raise UntestableRevision("kernels of this tree are linked in one order only")


def _toolchain(recipe: Recipe) -> str:
    """What compiler and linker say of themselves; another text is another tool chain."""
    if recipe.tool == "make":
        return "; ".join(filter(None, (told(["cc", "--version"]), told(["ld", "--version"]))))
    if recipe.cross_bin is None:
        raise InfraError("clang: not found", hint="install clang and lld")
    names = ("clang", "ld.lld")
    versions = [told([str(recipe.cross_bin / name), "--version"]) for name in names]
    for name, version in zip(names, versions, strict=True):
        if not version:
            raise InfraError(f"{recipe.cross_bin / name}: not found", hint="install clang and lld")
    return "; ".join(versions)


def _without_paths(recipe: Recipe) -> list[str]:
    """The variables that are alike on all builders."""
    return [word for word in recipe.variables if "/" not in word]


def _write_if_new(path: Path, text: str) -> None:
    """Leave a file that is right as it is: config(8) and make go by times."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
