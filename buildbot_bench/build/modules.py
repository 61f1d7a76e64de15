"""The directories of sys/modules that build the modules which a job names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

# What the workloads load on a DUT. GENERIC has them as modules, and a kernel finds its modules
# in its own directory only.
OF_WORKLOADS = ("pf", "ipfw", "netmap", "hwpmc")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,63}", re.ASCII)
_KMOD = re.compile(r"^KMOD\s*[?:]?=\s*(\S+)", re.MULTILINE)
_LINKED = re.compile(r"^SYMLINKS\s*\+?=.*?/(\w+)\.ko\s*$", re.MULTILINE)


def directories(
    source: Path, names: Sequence[str], *, built_in: Container[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The directories below sys/modules for some modules and those of the workloads, and remarks.

    A name is that of a directory, or of a module that one of them makes: igb, vtnet. What the
    workloads load is left out where the kernel has it `built_in`, or the tree has no such module.
    Raises UsageError for a name that the tree does not know, with those that are like it.
    """
    root = source / "sys" / "modules"
    made = dict(_made(root))
    found: list[str] = []
    remarks: list[str] = []
    for name in names:
        directory = _directory(root, name, made)
        if directory != name:
            remarks.append(f"{name} is built by {directory}")
        found.append(directory)
    found += [
        name
        for name in OF_WORKLOADS
        if name not in built_in and (root / name / "Makefile").is_file()
    ]
    return tuple(dict.fromkeys(found)), tuple(remarks)


def _directory(root: Path, name: str, made: dict[str, str]) -> str:
    if _NAME.fullmatch(name) and ".." not in name:
        if (root / name / "Makefile").is_file():
            return name
        for module in (name, f"if_{name}"):
            if module in made:
                return made[module]
    like = difflib.get_close_matches(name.removeprefix("if_"), {*made, *made.values()}, n=3)
    hint = f"it has {', '.join(sorted(like))}" if like else "they are named as in sys/modules: em"
    raise UsageError(f"the tree has no module {quoted(name, columns=60)}", hint=hint)


def _made(root: Path) -> Iterator[tuple[str, str]]:
    """The modules, links to them included, and the directory that makes each."""
    for depth in ("*/Makefile", "*/*/Makefile"):
        for path in sorted(root.glob(depth)):
            text = path.read_text(errors="replace")
            directory = str(path.parent.relative_to(root))
            for name in (*_KMOD.findall(text), *_LINKED.findall(text)):
                yield name, directory
