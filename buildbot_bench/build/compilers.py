"""The host's compiler and linker that build a kernel, with their versions."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build.running import version_of
from buildbot_bench.core.errors import InfraError

_HINT = "install clang and lld; `bench-build check` names the packages"


@dataclass(frozen=True, kw_only=True, slots=True)
class Compilers:
    """`directory` of clang and ld.lld, None for the host's own cc; what they say of themselves."""

    directory: Path | None
    version: str

    def takes(self, standard: str) -> bool:
        """Whether this compiler knows a standard of C++, as `c++23`."""
        compiler = "cc" if self.directory is None else str(self.directory / "clang")
        return bool(version_of([compiler, f"-std={standard}", *["-x", "c++", "-E", "/dev/null"]]))


def own() -> Compilers:
    """What FreeBSD builds itself by: cc and ld."""
    versions = (version_of(["cc", "--version"]), version_of(["ld", "--version"]))
    return Compilers(directory=None, version="; ".join(filter(None, versions)))


def clang_and_lld() -> Compilers:
    """Clang of the PATH and the linker beside it."""
    clang = shutil.which("clang")
    if clang is None:
        raise InfraError("clang: not found", hint=_HINT)
    directory = Path(clang).resolve().parent
    names = ("clang", "ld.lld")
    versions = [version_of([str(directory / name), "--version"]) for name in names]
    for name, version in zip(names, versions, strict=True):
        if not version:
            raise InfraError(f"{directory / name}: not found", hint=_HINT)
    return Compilers(directory=directory, version="; ".join(versions))
