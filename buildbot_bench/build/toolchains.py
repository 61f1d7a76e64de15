"""The host's compilers, and tool chains that all worktrees share by the state of their sources."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buildbot_bench.build.journal import version_of
from buildbot_bench.build.outcome import is_freebsd_list, listed_by_compilers
from buildbot_bench.core.errors import InfraError

_HINT = "install clang and lld; `bench-build check` names the packages"
_VERSIONED = re.compile(r"clang-(\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Compilers:
    """`directory` of clang and ld.lld, None for the host's own cc; what they say of themselves."""

    directory: Path | None
    version: str

    def takes(self, standard: str) -> bool:
        """Whether this compiler knows a standard of C++, as `c++23`; empty for any."""
        compiler = "cc" if self.directory is None else str(self.directory / "clang")
        trial = [compiler, f"-std={standard}", *["-x", "c++", "-E", "/dev/null"]]
        return not standard or bool(version_of(trial))


def own_compilers() -> Compilers:
    """What FreeBSD builds itself by: cc and ld."""
    versions = (version_of(["cc", "--version"]), version_of(["ld", "--version"]))
    return Compilers(directory=None, version="; ".join(filter(None, versions)))


def clang_and_lld(standard: str = "") -> Compilers:
    """Clang of the PATH and the linker beside it.

    Where this clang is too old for a standard of C++, it is the newest `clang-N` that is not.
    """
    clang = shutil.which("clang")
    if clang is None:
        raise InfraError("clang: not found", hint=_HINT)
    usual = _those_of(Path(clang))
    if not usual.takes(standard):
        for versioned in _versioned():
            try:
                other = _those_of(versioned)
            except InfraError:  # it has no linker beside it
                continue
            if other.takes(standard):
                return other
    return usual


def _those_of(clang: Path) -> Compilers:
    directory = clang.resolve().parent
    names = ("clang", "ld.lld")
    versions = [version_of([str(directory / name), "--version"]) for name in names]
    for name, version in zip(names, versions, strict=True):
        if not version:
            raise InfraError(f"{directory / name}: not found", hint=_HINT)
    return Compilers(directory=directory, version="; ".join(versions))


def _versioned() -> Iterator[Path]:
    found = {
        int(name[1]): path
        for directory in reversed(os.get_exec_path())
        for path in Path(directory).glob("clang-*")
        if (name := _VERSIONED.fullmatch(path.name))
    }
    return (found[number] for number in sorted(found, reverse=True))


# About 45 MB each for 13.1. A range of some years meets a dozen; a farm works on one or two.
MOST_KEPT = 8
_MADE_OF, _LOCK = "made-of.json", "lock"
_FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolchain:
    """A directory: `objects` is where it was built, `tools` what the kernel's build calls.

    `is_new` when it was built just now.
    """

    place: Path
    is_new: bool = False

    @property
    def objects(self) -> Path:
        """The object tree of the tools, with make's own bootstrap."""
        return self.place / "obj"

    @property
    def tools(self) -> Path:
        """What FreeBSD's makefiles call WORLDTMP."""
        return self.place / "tools"

    @property
    def root(self) -> Path:
        """What a world is installed into."""
        return self.place / "root"


def places_read(made: Toolchain, source: Path) -> tuple[str, ...]:
    """The files, and with a slash the directories, of the source tree that it was built from."""
    places = _read_recipe(made.place).get("inputs", {})
    return tuple(f"{name}/" if (source / name).is_dir() else name for name in places)


def default_store(kind: str = "toolchains") -> Path:
    """Where a builder keeps its tool chains, or its `worlds`, by default."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "buildbot-bench" / kind


@contextmanager
def toolchain(
    store: Path,
    source: Path,
    recipe: Sequence[str],
    build: Callable[[Toolchain], None],
    *,
    say: Callable[[str], object] = lambda _: None,
    is_resumable: bool = False,
    more: Sequence[str] = (),
) -> Iterator[Toolchain]:
    """The tool chain for a source tree, built unless it is there; it stays while it is used.

    `recipe` is all else that it depends on: compilers, words for make. One is built at a time. What
    `build` raises is raised here too; what it made until then stays, and the next call goes on with
    it, where it `is_resumable`. `more` are places of the source tree that no compiler names.
    """
    try:
        store.mkdir(parents=True, exist_ok=True)
        taken = _take(store, source, recipe)
        if taken is None:
            with _locked(store / _LOCK, say):
                # Another build may have made it while this one waited.
                taken = _take(store, source, recipe)
                if taken is None:
                    place = _place(store, source, recipe, is_resumable=is_resumable)
                    taken = _built(
                        place, source, recipe, build, is_resumable=is_resumable, more=more
                    )
                _forget(store, taken[0])
    except OSError as error:
        raise InfraError(f"cannot keep what is built in {store}: {error}") from error
    kept, lock = taken
    try:
        yield kept
    finally:
        os.close(lock)


_Taken = tuple[Toolchain, int]  # with the descriptor of its lock, which ends with the process


def _take(store: Path, source: Path, recipe: Sequence[str]) -> _Taken | None:
    for place in _newest_first(store):
        recipe_file = _read_recipe(place)
        if recipe_file.get("recipe") == list(recipe) and all(
            _digest(source / place) == digest
            for place, digest in recipe_file.get("inputs", {}).items()
        ):
            try:
                lock = _open_lock(place / _LOCK, fcntl.LOCK_SH)
            except FileNotFoundError:  # it was removed just now
                continue
            if _read_recipe(place) == recipe_file:
                os.utime(place)
                return Toolchain(place=place), lock
            os.close(lock)
    return None


def _read_recipe(place: Path) -> dict[str, Any]:
    """What a tool chain is made of; empty where its build was interrupted, or is going on."""
    try:
        recipe_file = json.loads((place / _MADE_OF).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return (
        recipe_file
        if isinstance(recipe_file, dict) and recipe_file.get("format") == _FORMAT
        else {}
    )


def _place(store: Path, source: Path, recipe: Sequence[str], *, is_resumable: bool) -> Path:
    """Return the directory to build in: a new one, or what an interrupted build left."""
    if is_resumable:
        text = json.dumps([str(source), *recipe])
        place = store / f"begun-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        if not (place / _MADE_OF).exists():
            return place
    return Path(tempfile.mkdtemp(prefix="toolchain-", dir=store))


def _built(
    place: Path,
    source: Path,
    recipe: Sequence[str],
    build: Callable[[Toolchain], None],
    *,
    is_resumable: bool,
    more: Sequence[str],
) -> _Taken:
    # Its paths are written into the tools: it cannot be moved when it is done.
    made = Toolchain(place=place, is_new=True)
    for directory in (made.objects, made.tools):
        directory.mkdir(parents=True, exist_ok=True)
    try:
        build(made)
    except BaseException:
        if not is_resumable:
            shutil.rmtree(place, ignore_errors=True)
        raise
    made_of = inputs(source, place, more)
    recipe_file = {"format": _FORMAT, "recipe": list(recipe), "inputs": made_of}
    lock = _open_lock(place / _LOCK, fcntl.LOCK_SH)
    (place / _MADE_OF).write_text(json.dumps(recipe_file, indent=1), encoding="utf-8")
    return made, lock


def _forget(store: Path, kept: Toolchain) -> None:
    """Remove what was used least recently, and what an interrupted build left behind."""
    others = [place for place in _newest_first(store) if place != kept.place]
    whole = [place for place in others if (place / _MADE_OF).is_file()]
    for place in others:
        if place not in whole[: MOST_KEPT - 1]:
            with suppress(BlockingIOError):  # it is used
                lock = _open_lock(place / _LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)
                os.close(lock)


def _newest_first(store: Path) -> list[Path]:
    found: list[tuple[int, Path]] = []
    for path in store.iterdir():
        with suppress(FileNotFoundError):  # another build removes what it does not keep
            if path.is_dir():
                found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]


@contextmanager
def _locked(path: Path, say: Callable[[str], object]) -> Iterator[None]:
    try:
        lock = _open_lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("tool chain: another build makes one; waiting for it")
        lock = _open_lock(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def _open_lock(path: Path, operation: int) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, operation)
    except OSError:
        os.close(lock)
        raise
    return lock


# What no compiler tells of: the rules of make, its own source, and the headers that are copied.
_RULES = ("share/mk", "tools/build", "tools/build/mk", "contrib/bmake")
_COPIED = "tools/build/Makefile"
_COPIED_FILE = re.compile(r"\$\{SRCTOP\}/([\w./+-]+)")
# Kernel sources are looked at one by one; of other directories all that lies beside counts, as
# grammars and scripts do, which no compiler reads.
_KERNEL = "sys/"
_IS_PAGE = re.compile(r".*\.[1-9]", re.DOTALL)


def inputs(source: Path, objects: Path, more: Sequence[str] = ()) -> dict[str, str]:
    """Each place of the source tree that the objects were made from, with its digest.

    `more` are places beside those that compilers name. A place is a file of the kernel's tree, or
    a directory, without those below it.
    """
    places = {
        *_RULES,
        *more,
        *_copied_files(source),
        *(path.name for path in source.glob("Makefile*") if path.is_file()),
    }
    for name in listed_by_compilers(source, objects, is_freebsd_list).files:
        places.add(name if name.startswith(_KERNEL) else os.path.dirname(name))  # noqa: PTH120
    return {place: digest for place in sorted(places) if (digest := _digest(source / place))}


def _copied_files(source: Path) -> Iterator[str]:
    """The headers that are copied for the tools; it is the copies that compilers name."""
    if (source / _COPIED).is_file():
        text = (source / _COPIED).read_text(errors="replace")
        yield from (name for name in _COPIED_FILE.findall(text) if (source / name).is_file())


def _digest(place: Path) -> str:
    """Of a file its content, of a directory the content of its files; empty for neither.

    Pages of the manual are left out.
    """
    if place.is_dir():
        files = sorted(path for path in place.iterdir() if path.is_file())
        pages = (f"{_digest(path)} {path.name}" for path in files if not _IS_PAGE.match(path.name))
        return hashlib.sha256("\n".join(pages).encode(errors="surrogateescape")).hexdigest()
    if place.is_file():
        return hashlib.sha256(place.read_bytes()).hexdigest()
    return ""
