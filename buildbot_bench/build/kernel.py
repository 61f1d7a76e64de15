"""From a wish to a packed FreeBSD kernel: configuration, tool chain, commands, archive."""

from __future__ import annotations

import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build import compilers, kernconf
from buildbot_bench.build.compilers import Compilers
from buildbot_bench.build.freebsd import (
    KernelRecipe,
    Tool,
    kernel_commands,
    toolchain_commands,
    toolchain_words,
)
from buildbot_bench.build.journal import Journal
from buildbot_bench.build.modules import directories
from buildbot_bench.build.object_tree import ObjectTree, emptied, link, prepare
from buildbot_bench.build.packing import files_below, pack, write_hints
from buildbot_bench.build.running import BuildCommand, run, told
from buildbot_bench.build.toolchains import Toolchain, toolchain
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.manifest import Manifest
from buildbot_bench.core.neutral import digest_of_files


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What is to be built, as the command line and the farm say; paths are absolute.

    `kernconf` and `modules` None: the tree's own choice, and all. `toolchains` is where tool chains
    are kept; `variant` is for the manifest's reader; `options` are lines of the kernel
    configuration; `image` counts the orders in which the kernel is linked, 0 being the plain one.
    """

    source: Path
    obj: Path
    toolchains: Path
    kernconf: str | None
    target: str
    target_arch: str
    modules: Sequence[str] | None
    tool: Tool
    jobs: int
    least_free_mb: int
    clean: bool
    verbose: bool
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
    ill, UsageError when there is no such tree, configuration or module.
    """
    plan = _plan(wish, dry_run=dry_run)
    if dry_run:
        made = Toolchain(place=wish.toolchains / "NEW")
        _show((*toolchain_commands(plan.recipe, made), *kernel_commands(plan.recipe)))
        return
    why = prepare(wish.obj, plan.version, clean=wish.clean, least_free_mb=wish.least_free_mb)
    plan.recipe.config_directory.mkdir(exist_ok=True)
    configuration = plan.recipe.config_directory / kernconf.NAME
    journal = Journal(
        log=wish.obj / "bench-build.log",
        out=sys.stdout,
        source=wish.source,
        configuration=configuration,
        about=plan.tree.files_to_compile,
        verbose=wish.verbose,
    )
    with closing(journal):
        for remark in (*([f"emptied {wish.obj}: {why}"] if why else []), *plan.remarks):
            journal.say(f"note: {remark}")
        _write_if_new(configuration.with_name(kernconf.FIRST_SYMBOLS), "\n".join(kernconf.FIRST))
        _write_if_new(configuration, plan.config)
        _build(wish, plan, journal)
        plan.tree.note_compiled(journal.compiled)
        _pack(wish, plan, journal)
        journal.say(f"times: {journal.times()}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What a wish comes to on this machine: `version` is what the compilers say of themselves."""

    recipe: KernelRecipe
    tree: ObjectTree
    config: str
    version: str
    remarks: Sequence[str]


def _plan(wish: Wish, *, dry_run: bool) -> _Plan:
    """Look at the tree and, unless it is a dry run, for the compilers."""
    _check_tree(wish)
    base = kernconf.base(wish.source / "sys" / wish.target / "conf", wish.kernconf)
    foreign = wish.tool == "make.py"
    config = kernconf.kernel_config(base, wish.options, wish.image, foreign=foreign)
    modules, remarks = _modules(wish, base)
    used = Compilers(directory=None, version="")
    if not dry_run:
        used = compilers.own() if wish.tool == "make" else compilers.clang_and_lld()
    ccache = shutil.which("ccache")
    recipe = KernelRecipe(
        source=wish.source,
        obj=wish.obj,
        tool=wish.tool,
        jobs=wish.jobs,
        target=wish.target,
        target_arch=wish.target_arch,
        modules=modules,
        compilers=used.directory,
        ccache=Path(ccache) if ccache else None,
        flags=kernconf.compiler_flags(base, wish.options),
        more=wish.more,
    )
    machine = f"{wish.target}.{wish.target_arch}"
    tree = ObjectTree(place=wish.obj, source=wish.source, machine=machine)
    return _Plan(recipe=recipe, tree=tree, config=config, version=used.version, remarks=remarks)


def _modules(wish: Wish, base: kernconf.Base) -> tuple[Sequence[str] | None, Sequence[str]]:
    """The directories of modules to build, None for all; and remarks."""
    if not wish.modules:
        return wish.modules, ()
    built_in = kernconf.built_in(base, wish.options)
    return directories(wish.source, wish.modules, built_in=built_in)


def _build(wish: Wish, plan: _Plan, journal: Journal) -> None:
    """Have a tool chain, and build and install by it."""
    recipe = plan.recipe

    def build_toolchain(made: Toolchain) -> None:
        for command in toolchain_commands(recipe, made):
            run(command, journal)

    asked = (recipe.tool, plan.version, told(["cc", "--version"]), *toolchain_words(recipe))
    with toolchain(wish.toolchains, wish.source, asked, build_toolchain, say=journal.say) as made:
        done = "built" if made.is_new else "kept"
        journal.say(f"tool chain: {done}, {made.place}")
        link(recipe.tools, made.tools)
        link(recipe.obj / "bmake-install", made.objects / "bmake-install")
        emptied(recipe.stage)
        for command in kernel_commands(recipe):
            run(command, journal)


def _pack(wish: Wish, plan: _Plan, journal: Journal) -> None:
    journal.do("packing")
    installed = plan.recipe.stage / "boot" / "kernel"
    write_hints(installed)
    files = files_below(installed)
    lines = plan.tree.kernel_directory / "kernel.debug"
    if lines.is_file():
        files["kernel.debug"] = lines
    manifest = Manifest(
        variant=f"{wish.variant} image {wish.image}".strip(),
        config="; ".join(plan.config.splitlines()),
        toolchain=plan.version,
        flags=" ".join(_without_paths(plan.recipe)),
    )
    whole = pack(files, manifest, wish.output)
    journal.say(f"archive: {wish.output}, {wish.output.stat().st_size / 1e6:.1f} MB")
    journal.say(f"digest: {digest_of_files(whole.files.items())}")


def _show(commands: Sequence[BuildCommand]) -> None:
    for command in commands:
        kept = ("MAKEOBJDIRPREFIX", "LC_ALL", "TESTS")
        settings = [f"{name}={command.env[name]}" for name in kept if name in command.env]
        print(shlex.join(["env", *settings, *command.words]))


def _check_tree(wish: Wish) -> None:
    if not (wish.source / "sys" / wish.target / "conf").is_dir():
        raise UsageError(f"{wish.source} is no FreeBSD source tree", hint="see --source, --target")
    if wish.tool == "make.py" and not (wish.source / "tools" / "build" / "make.py").is_file():
        raise InfraError(
            "the tree is too old for a builder that is not FreeBSD: it has no tools/build/make.py",
            hint="build it on FreeBSD",
        )
    rules = wish.source / "sys" / "conf" / "kern.pre.mk"
    if wish.image and "LDFLAGS" not in rules.read_text(encoding="utf-8", errors="replace"):
        raise UntestableRevision("kernels of this tree are linked in one order only")


def _without_paths(recipe: KernelRecipe) -> list[str]:
    """The variables that are alike on all builders."""
    return [word for word in recipe.variables if "/" not in word]


def _write_if_new(path: Path, text: str) -> None:
    """Leave a file that is right as it is: config(8) and make go by times."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
