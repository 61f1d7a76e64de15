"""The build of a FreeBSD kernel: configuration, tool chain, commands and archive."""

import os
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
    make_commands,
    toolchain_commands,
    toolchain_words,
)
from buildbot_bench.build.journal import Journal
from buildbot_bench.build.kernconf import directories
from buildbot_bench.build.object_tree import ObjectTree, drop_others_make, emptied, link, prepare
from buildbot_bench.build.packing import files_below, pack, write_hints
from buildbot_bench.build.read_files import forget_list, write_list
from buildbot_bench.build.running import BuildCommand, run, version_of
from buildbot_bench.build.toolchains import Toolchain, places_read, toolchain
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.freebsd_releases import NEEDS
from buildbot_bench.core.manifest import Manifest
from buildbot_bench.core.neutral import digest_of_files
from buildbot_bench.core.shared_fields import shared


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelRequest:
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


def build_kernel(request: KernelRequest, *, dry_run: bool = False) -> None:
    """Build and pack a kernel, or say how."""
    plan = _plan(request, dry_run=dry_run)
    if dry_run:
        made = Toolchain(place=request.toolchains / "NEW")
        make = make_commands(plan.recipe, request.obj)
        _show((*toolchain_commands(plan.recipe, made), *make, *kernel_commands(plan.recipe)))
        return
    why = prepare(
        request.obj, plan.version, clean=request.clean, least_free_mb=request.least_free_mb
    )
    plan.recipe.config_directory.mkdir(exist_ok=True)
    configuration = plan.recipe.config_directory / kernconf.NAME
    journal = Journal(
        log=request.obj / "bench-build.log",
        out=sys.stdout,
        source=request.source,
        configuration=configuration,
        about=plan.tree.files_to_compile,
        verbose=request.verbose,
    )
    with closing(journal):
        for remark in (*([f"emptied {request.obj}: {why}"] if why else []), *plan.remarks):
            journal.say(f"note: {remark}")
        _write_if_new(configuration.with_name(kernconf.FIRST_SYMBOLS), "\n".join(kernconf.FIRST))
        _write_if_new(configuration, plan.config)
        forget_list(request.output)
        read = _build(request, plan, journal)
        plan.tree.note_compiled(journal.compiled)
        _pack(request, plan, journal)
        objects = plan.tree.kernel_directory
        journal.say(write_list(request.output, request.source, objects, more=read))
        journal.say(f"times: {journal.times()}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What a wish comes to on this machine: `version` is what the compilers say of themselves."""

    recipe: KernelRecipe
    tree: ObjectTree
    config: str
    version: str
    remarks: Sequence[str]


def _plan(request: KernelRequest, *, dry_run: bool) -> _Plan:
    check_tree(request.source, request.target, request.tool)
    rules = request.source / "sys" / "conf" / "kern.pre.mk"
    if request.image and "LDFLAGS" not in rules.read_text(encoding="utf-8", errors="replace"):
        raise UntestableRevision("kernels of this tree are linked in one order only")
    base = kernconf.base(request.source / "sys" / request.target / "conf", request.kernconf)
    foreign = request.tool == "make.py"
    config = kernconf.kernel_config(base, request.options, request.image, foreign=foreign)
    modules, remarks = request.modules, tuple[str, ...]()
    if request.modules:
        built_in = kernconf.built_in(base, request.options)
        modules, remarks = directories(request.source, request.modules, built_in=built_in)
    used = Compilers(directory=None, version="")
    if not dry_run:
        used = compilers.own() if request.tool == "make" else compilers.clang_and_lld()
    ccache = shutil.which("ccache")
    recipe = KernelRecipe(
        **shared(KernelRecipe, request) | {"modules": modules},
        compilers=used.directory,
        ccache=Path(ccache) if ccache else None,
        flags=kernconf.compiler_flags(base, request.options),
    )
    machine = f"{request.target}.{request.target_arch}"
    tree = ObjectTree(place=request.obj, source=request.source, machine=machine)
    return _Plan(recipe=recipe, tree=tree, config=config, version=used.version, remarks=remarks)


def _build(request: KernelRequest, plan: _Plan, journal: Journal) -> tuple[str, ...]:
    recipe = plan.recipe

    def build_toolchain(made: Toolchain) -> None:
        for command in toolchain_commands(recipe, made):
            run(command, journal)

    asked = (recipe.tool, plan.version, version_of(["cc", "--version"]), *toolchain_words(recipe))
    with toolchain(
        request.toolchains, request.source, asked, build_toolchain, say=journal.say
    ) as made:
        done = "built" if made.is_new else "kept"
        journal.say(f"tool chain: {done}, {made.place}")
        drop_others_make(recipe.tools, made.tools)
        for command in make_commands(recipe, recipe.obj):
            run(command, journal)
        link(recipe.tools, made.tools)
        emptied(recipe.stage)
        for command in kernel_commands(recipe):
            run(command, journal)
        return places_read(made, request.source)


def _pack(request: KernelRequest, plan: _Plan, journal: Journal) -> None:
    journal.do("packing")
    installed = plan.recipe.stage / "boot" / "kernel"
    write_hints(installed)
    files = files_below(installed)
    lines = plan.tree.kernel_directory / "kernel.debug"
    if lines.is_file() and not lines.is_symlink():
        files["kernel.debug"] = lines
    manifest = Manifest(
        variant=f"{request.variant} image {request.image}".strip(),
        config="; ".join(plan.config.splitlines()),
        toolchain=plan.version,
        flags=" ".join([word for word in plan.recipe.variables if "/" not in word]),
    )
    whole = pack(files, manifest, request.output)
    journal.say(f"archive: {request.output}, {request.output.stat().st_size / 1e6:.1f} MB")
    journal.say(f"digest: {digest_of_files(whole.files.items())}")


def _show(commands: Sequence[BuildCommand]) -> None:
    for command in commands:
        kept = ("MAKEOBJDIRPREFIX", "LC_ALL", "TESTS")
        settings = [f"{name}={command.env[name]}" for name in kept if name in command.env]
        print(shlex.join(["env", *settings, *command.words]))


def check_tree(source: Path, target: str, tool: Tool) -> None:
    """See that a directory is a FreeBSD source tree, and new enough for the tool."""
    if not (source / "sys" / target / "conf").is_dir():
        raise UsageError(f"{source} is no FreeBSD source tree", hint="see --source, --target")
    if tool == "make.py" and not (source / "tools" / "build" / "make.py").is_file():
        raise InfraError(
            "the tree is too old for a builder that is not FreeBSD: it has no tools/build/make.py, "
            f"which FreeBSD has since {NEEDS['make.py'].since}",
            hint="build it on FreeBSD",
        )
    script = source / "contrib" / "bmake" / "configure"
    if tool == "make.py" and script.is_file() and not os.access(script, os.X_OK):
        raise UsageError(
            f"{script} may not be run: this tree has lost the modes of its files",
            hint="`chmod +x` each file that begins with `#!`",
        )


def _write_if_new(path: Path, text: str) -> None:
    """Leave a file that is right as it is: config(8) and make go by times."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
