"""The kernel configuration, as in config(5), and the modules of one image of one variant."""

import difflib
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.core.legible import quoted

NAME = "BENCH"
# What comes first in every kernel's text: pmap_bootstrap maps what lies before btext as not
# executable (bootaddr_rwx in sys/amd64/amd64/pmap.c); arm64 enters at _start.
FIRST_SYMBOLS = "first-symbols"
FIRST = ("btext", "_start")
# FreeBSD-CURRENT's GENERIC has debugging on, and a twin without; a release's has it off.
DEFAULTS = ("GENERIC-NODEBUG", "GENERIC")
_MOST_BYTES = 1 << 20
_BASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_OPTION = r"[A-Z][A-Z0-9_]{0,63}"
# make expands the value of a makeoption, and hands it to a shell: flags that name a file or a
# plugin, and whatever make or a shell gives a meaning to, are left out.
_FLAG = r"-(?!fplugin|fpass-plugin)[OWfgm][A-Za-z0-9_=.,+-]{0,63}|[A-Za-z0-9_.]{1,63}"
_LINE = re.compile(
    rf"(?:no)?options[ \t]+{_OPTION}(?:=[A-Za-z0-9_.-]{{1,63}})?"
    r"|(?:no)?device[ \t]+[a-z][a-z0-9_]{0,63}"
    rf"|nomakeoptions[ \t]+{_OPTION}"
    r"|makeoptions[ \t]+(?:DEBUG|COPTFLAGS|CONF_CFLAGS|CWARNEXTRA|INLINE_LIMIT"
    rf"|WITH(?:OUT)?_[A-Z0-9_]{{1,60}})=(?:(?:{_FLAG})|\"(?:{_FLAG})(?: (?:{_FLAG})){{0,15}}\")",
    re.ASCII,
)
_INCLUDE = re.compile(r"^\s*include\s+\"?([^\s\"#]+)", re.MULTILINE)
_DEBUG = re.compile(r"^\s*makeoptions?\s+\"?DEBUG=.*-g", re.MULTILINE)
_FLAGS = re.compile(r"^\s*makeoptions?\s+\"?CONF_CFLAGS=\"?([^\"#\n]*)", re.MULTILINE)
_DEVICE = re.compile(r"^\s*((?:no)?(?:device|option)s?)\s+\"?(\w+)", re.MULTILINE)
_OF_OPTIONS = {"IPFIREWALL": "ipfw"}
_DEEPEST = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """What a kernel is based on: a configuration of the tree, or the text of a file.

    `name` is for a reader; `whole` is the text with all that it includes.
    """

    name: str
    text: str
    whole: str


def base(directory: Path, asked: str | None) -> Base:
    """The configuration that is asked for, by its name in the tree's `directory` or as a file.

    A word with a slash is a file. None: the first of GENERIC-NODEBUG and GENERIC that the tree has.
    """
    if asked is None:
        asked = next((name for name in DEFAULTS if (directory / name).is_file()), DEFAULTS[-1])
    if "/" in asked:
        text = _text(Path(asked))
        return Base(name=Path(asked).name, text=text, whole=_whole(directory, text))
    if not _BASE.fullmatch(asked):
        hint = "say GENERIC, or name a file: ./MYKERNEL"
        raise UsageError(f"{quoted(asked)} is no kernel configuration", hint=hint)
    if not (directory / asked).is_file():
        raise UntestableRevision(f"the tree has no {'/'.join(directory.parts[-3:])}/{asked}")
    text = f"include {asked}\n"
    return Base(name=asked, text=text, whole=_whole(directory, text))


def kernel_config(based_on: Base, options: str, image: int, *, foreign: bool = False) -> str:
    """The configuration with lines of options; image 1, 2, … link in another order each.

    The order is drawn by ld.lld (13 or newer), with the image's number as seed: kern.pre.mk hands
    LDFLAGS to the linker of the kernel. The symbols of the file `FIRST_SYMBOLS`, beside the
    configuration, stay first. Types for DTrace (CTF) are left out, and of what is for a debugger
    all but line tables: neither is loaded, and both take long to make.
    A `foreign` compiler is none of FreeBSD's: where modules guard their stacks, other clangs take
    the guard's address from a table (R_X86_64_REX_GOTPCRELX) that no kernel makes for a module.
    """
    lines = [line.strip() for line in options.splitlines() if line.strip()]
    for line in lines:
        if not _LINE.fullmatch(line):
            hint = "it takes options, nooptions, device, nodevice, makeoptions: options VIMAGE"
            raise UsageError(f"{quoted(line)} is no line of options", hint=hint)
    ours = ["nomakeoptions WITH_CTF"]
    if foreign:
        ours += _anew('makeoptions MKMODULESENV="WITHOUT_SSP=yes"')
    if _DEBUG.search(based_on.whole) is not None:
        ours += _anew("makeoptions DEBUG=-gline-tables-only")
    text = based_on.text.rstrip("\n")
    asked = [said for line in lines for said in _anew(line)]
    return "\n".join([text, f"ident {NAME}", *ours, *asked, *_shuffled(image), ""])


def built_in(based_on: Base, options: str) -> frozenset[str]:
    """The devices that the kernel has without a module; ipfw where an option says so."""
    found: set[str] = set()
    for kind, name in _DEVICE.findall(f"{based_on.whole}\n{options}"):
        (found.discard if kind.startswith("no") else found.add)(_OF_OPTIONS.get(name, name))
    return frozenset(found)


def compiler_flags(based_on: Base, options: str) -> str:
    """The flags that the configuration adds for the compiler; a word for make would hide them."""
    found = [match[1] for match in _FLAGS.finditer(f"{based_on.whole}\n{options}")]
    return found[-1].strip() if found else ""


def _anew(line: str) -> list[str]:
    """A line, before it one that takes away what was said before: config(8) heeds the first."""
    kind, said = line.split(None, 1)
    name, equals, _ = said.partition("=")
    return [f"no{kind} {name}", line] if equals else [line]


def _shuffled(image: int) -> list[str]:
    if not image:
        return []
    # make expands the directory: neither the kernel, which holds its configuration, nor its digest
    # may depend on where it was built.
    first = f"-Wl,--symbol-ordering-file=${{KERNCONFDIR}}/{FIRST_SYMBOLS}"
    flags = f"{first} -Wl,--no-warn-symbol-ordering -Wl,--shuffle-sections=.text*={image}"
    return [f'makeoptions LDFLAGS="{flags}"']


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--kernconf: cannot read {path}: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"--kernconf: {path} is larger than any kernel configuration")
    return content.decode(errors="replace")


def _whole(directory: Path, text: str, depth: int = 0) -> str:
    """A text with the files that it includes; config(8) complains of those that are not there."""
    parts = []
    for name in _INCLUDE.findall(text) if depth < _DEEPEST else ():
        path = directory / name
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            parts.append(_whole(directory, path.read_text(errors="replace"), depth + 1))
    return "\n".join([*parts, text])


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
