"""The build of a FreeBSD kernel: configuration, tool chain, kept object tree, commands, archive."""

import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.archives.contents import Manifest, digest_of_files
from buildbot_bench.build import kernconf
from buildbot_bench.build.freebsd import (
    KernelRecipe,
    Tool,
    kernel_commands,
    make_commands,
    toolchain_commands,
    toolchain_words,
)
from buildbot_bench.build.journal import BuildCommand, Journal, run, version_of
from buildbot_bench.build.kernconf import NAME, directories
from buildbot_bench.build.outcome import files_below, forget_list, pack, write_hints, write_list
from buildbot_bench.build.toolchains import (
    Compilers,
    Toolchain,
    clang_and_lld,
    own_compilers,
    places_read,
    toolchain,
)
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.freebsd_releases import NEEDS
from buildbot_bench.core.json_model import shared

_STAMP = "bench-toolchain"
_FILES = "bench-files"
_MEGABYTE = 1 << 20
_OBJECT = re.compile(r"^[\w-]+\.o:", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTree:
    """The objects of one source tree: `machine` is amd64.amd64."""

    place: Path
    source: Path
    machine: str

    @property
    def kernel_directory(self) -> Path:
        """Where the kernel's objects are."""
        objects = Path(f"{self.place}{self.source}", self.machine)
        before_2018 = Path(f"{self.place}/{self.machine}{self.source}")
        return (before_2018 if before_2018.is_dir() else objects) / "sys" / NAME

    def files_to_compile(self) -> int:
        """About how many files a build from scratch compiles; 0 when some are compiled already."""
        if any(self.kernel_directory.glob("*.o")):
            return 0
        noted = self.place / _FILES
        if noted.is_file() and (text := noted.read_text()).isdigit():
            return int(text)
        rules = self.kernel_directory / "Makefile"  # config(8) writes a rule for each
        return len(_OBJECT.findall(rules.read_text(errors="replace"))) if rules.is_file() else 0

    def note_compiled(self, files: int) -> None:
        """Keep the largest number of files that a build compiled, for the next from scratch."""
        noted = self.place / _FILES
        before = noted.read_text() if noted.is_file() else "0"
        if not before.isdigit() or int(before) < files:
            noted.write_text(str(files))


def prepare(obj: Path, toolchain: str, *, clean: bool, least_free_mb: int) -> str:
    """Have the object tree ready for a tool chain; says why it was emptied, if it was."""
    stamp = obj / _STAMP
    try:
        made_by = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
        why = ""
        if clean:
            why = "as told"
        elif made_by not in {"", toolchain}:
            why = f"it was made by {made_by}"
        if why and obj.exists():
            if not stamp.exists() and any(obj.iterdir()):
                raise UsageError(
                    f"{obj} is no object tree of bench-build", hint="empty it, or name another"
                )
            shutil.rmtree(obj)
        obj.mkdir(parents=True, exist_ok=True)
        _need_room(obj, least_free_mb)
        stamp.write_text(toolchain, encoding="utf-8")
    except OSError as error:
        raise InfraError(f"cannot use the object tree: {error}", hint="see --obj") from error
    return why


def drop_others_make(path: Path, tools: Path) -> None:
    """Remove make.py's make, beside the link `path`, unless it was built when that led to `tools`.

    An old make.py takes any make that is there, a newer one stops where that is a link.
    """
    make = path.with_name("bmake-install")
    if path.is_symlink() and path.readlink() == tools and not make.is_symlink():
        return
    for place in (path, make):
        if place.is_symlink():
            place.unlink()
    shutil.rmtree(make, ignore_errors=True)


def link(path: Path, target: Path) -> None:
    """A symbolic link that leads there, no matter what was at its place before."""
    if path.is_symlink():
        if path.readlink() == target:
            return
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.symlink_to(target)


def emptied(directory: Path) -> Path:
    """The directory, there and empty."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def _need_room(obj: Path, least_free_mb: int) -> None:
    free_mb = shutil.disk_usage(obj).free // _MEGABYTE
    if free_mb < least_free_mb:
        raise InfraError(
            f"No space left on device: {free_mb} MB at {obj}, {least_free_mb} are needed",
            hint="make room, or say less by --least-free",
        )


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
        used = own_compilers() if request.tool == "make" else clang_and_lld()
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
