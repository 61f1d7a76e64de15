"""The check that a machine can build kernels, with the packages to install."""

import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build.journal import refusal
from buildbot_bench.core.errors import InfraError

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
    found = list(_all(obj, least_free_mb))
    for is_there, line in found:
        say(f"{'ok' if is_there else 'missing'}: {line}")
    missing = sum(not is_there for is_there, _ in found)
    if missing:
        raise InfraError(f"this machine lacks {missing} of {len(found)}", hint="install them")


def _all(obj: Path, least_free_mb: int) -> Iterator[tuple[bool, str]]:
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
