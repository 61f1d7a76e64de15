"""The host's compiler and linker that build a kernel or a userland, with their versions."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build.running import version_of
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


def own() -> Compilers:
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
