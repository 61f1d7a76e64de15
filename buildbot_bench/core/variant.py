"""Variants, and the notation in which people write them: `r317849+VIMAGE`."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import Spec, parse_spec, spec_text

_REVIEW = re.compile(r"D([1-9][0-9]{0,6})", re.ASCII)
# What a person means for a review, of whatever number: as an option it must be called one.
_LIKE_REVIEW = re.compile(r"D[0-9]+", re.ASCII)
_OPTION = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)
# A file's name as the command line gives it; '+' begins the next change.
_FILE = re.compile(r"[A-Za-z0-9_./~-]{1,200}", re.ASCII)
_TUNABLE = re.compile(r"([a-z][A-Za-z0-9_]{0,63}(?:\.[A-Za-z0-9_%-]{1,64}){1,9})=(.*)", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9_.,:/-]{1,100}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MERGED = re.compile(r"([0-9a-f]{40})(?::([A-Za-z0-9_.~/%-]{1,100}))?", re.ASCII)

# A variant's name and its tunables stand in indexes, whose entries hold 2700 bytes on PostgreSQL
# (https://www.postgresql.org/docs/current/btree.html): a recipe has up to 75 for each change.
PREBUILT = "prebuilt"
MOST_CHANGES = 32
LONGEST = 1000

_HINT = (
    "a change is D8526 (a review), commit:REV, file:my.patch, VIMAGE or nooptions:INVARIANTS "
    "(kernel options), or sysctl:NAME=VALUE"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """`D8526`: the patch of a Phabricator review."""

    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchFile:
    """`file:my.patch`: the patch in a file of the person who asks."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Picked:
    """`commit:c255761`: what a commit of the repository changes, as cherry-pick takes it."""

    revision: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelOption:
    """`VIMAGE`, or `nooptions:INVARIANTS`: a line of the kernel's configuration."""

    name: str
    enabled: bool = True

    @property
    def line(self) -> str:
        """The line as config(5) takes it."""
        return f"{'options' if self.enabled else 'nooptions'} {self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tunable:
    """`sysctl:NAME=VALUE`: set on the DUT before the traffic; nothing is built for it."""

    name: str
    value: str

    @property
    def setting(self) -> str:
        """The setting as sysctl(8) takes it."""
        return f"{self.name}={self.value}"


Change = Review | PatchFile | Picked | KernelOption | Tunable


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantSpec:
    """A revision and its changes, in the order in which they were written."""

    base: Spec
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MergedCommit:
    """A commit that is merged, the whole or `under` a directory, as `git merge -Xsubtree` does."""

    sha: str
    under: str = ""

    @property
    def text(self) -> str:
        """The canonical text, in which '+' stands only between changes."""
        return f"merge:{self.sha}:{quote(self.under)}" if self.under else f"merge:{self.sha}"


def is_directory(name: str) -> bool:
    """Whether a recipe can name a directory: it is short enough, and text."""
    try:
        return _MERGED.fullmatch(f"{'0' * 40}:{quote(name)}") is not None
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """What an image is built of: the commit, the SHA-256 of each patch, and the options.

    With the commits of `merged` it is merged first, one after the other. Patches keep their order,
    for one may stand on another; options are sorted, for theirs means nothing. `prebuilt`: the
    plain revision as somebody else built it.
    """

    sha: str
    merged: tuple[MergedCommit, ...] = ()
    patches: tuple[str, ...] = ()
    options: tuple[KernelOption, ...] = ()
    prebuilt: bool = False

    @property
    def text(self) -> str:
        """The canonical text, which names the variant in the tables; the hash if it is plain."""
        merged = (one.text for one in self.merged)
        patches = (f"patch:{digest}" for digest in self.patches)
        options = (f"{'options' if o.enabled else 'nooptions'}:{o.name}" for o in self.options)
        prebuilt = (PREBUILT,) if self.prebuilt else ()
        return "+".join([self.sha, *merged, *patches, *options, *prebuilt])

    @property
    def option_lines(self) -> str:
        """The options as lines of a kernel configuration; empty when there are none."""
        return "\n".join(option.line for option in self.options)


def parse_variant(text: str) -> VariantSpec:
    """Read a variant as a person writes it."""
    base, *changes = text.split("+")
    spec = VariantSpec(base=parse_spec(base), changes=tuple(map(_change, changes)))
    if len(changes) > MOST_CHANGES:
        raise UsageError(
            f"{quoted(text)}… has {len(changes)} changes, and {MOST_CHANGES} are the most",
            hint="put several into one patch",
        )
    if len(tunables_text(spec.changes)) > LONGEST:
        raise UsageError(
            f"the tunables of {quoted(text)}… are longer than {LONGEST} characters together",
            hint="set fewer at once",
        )
    keys = Counter(map(_subject, spec.changes))
    for key, times in keys.items():
        if times > 1:
            raise UsageError(
                f"{quoted(text, columns=200)} says {times} things of {key}", hint="say one of them"
            )
    return spec


def write_variant(spec: VariantSpec, *, base: str | None = None) -> str:
    """The notation of a variant, which `parse_variant` reads; `base` names its revision anew."""
    return "+".join([base or spec_text(spec.base), *map(_change_text, spec.changes)])


def recipe(sha: str, changes: Iterable[Change], digests: Mapping[Change, str]) -> Recipe:
    """What is to be built: the changes that are built, with the SHA-256 of each patch."""
    options: list[KernelOption] = []
    patches: list[str] = []
    for change in changes:
        match change:
            case Review() | PatchFile() | Picked():
                patches.append(digests[change])
            case KernelOption():
                options.append(change)
            case Tunable():
                pass
    ordered = tuple(sorted(options, key=lambda option: option.name))
    return Recipe(sha=sha, patches=tuple(patches), options=ordered)


def parse_recipe(text: str) -> Recipe:
    """Read `Recipe.text`."""
    sha, *changes = text.split("+")
    if changes == [PREBUILT]:
        return Recipe(sha=sha, prebuilt=True)
    merged: list[MergedCommit] = []
    patches: list[str] = []
    options: list[KernelOption] = []
    for change in changes:
        kind, _, name = change.partition(":")
        if kind == "merge" and (match := _MERGED.fullmatch(name)):
            merged.append(MergedCommit(sha=match[1], under=unquote(match[2] or "")))
        elif kind == "patch" and _DIGEST.fullmatch(name):
            patches.append(name)
        elif kind in {"options", "nooptions"} and _OPTION.fullmatch(name):
            options.append(KernelOption(name=name, enabled=kind == "options"))
        else:
            raise UsageError(f"{quoted(text, columns=200)} is no variant of the tables")
    return Recipe(sha=sha, merged=tuple(merged), patches=tuple(patches), options=tuple(options))


def tunables_text(changes: Iterable[Change]) -> str:
    """The tunables among some changes, sorted, with a space between: `a.b=1 c.d=2`; often empty."""
    return " ".join(sorted(change.setting for change in changes if isinstance(change, Tunable)))


def is_built(change: Change) -> bool:
    """Whether a change makes another image."""
    return not isinstance(change, Tunable)


def parse_tunable(text: str) -> Tunable:
    """Read NAME=VALUE."""
    match = _TUNABLE.fullmatch(text)
    if match is None or not _VALUE.fullmatch(match[2]):
        raise UsageError(
            f"{quoted(text, columns=120)} is no tunable",
            hint="write NAME=VALUE as in kern.random.harvest.mask=351",
        )
    return Tunable(name=match[1], value=match[2])


def _change(text: str) -> Change:
    kind, colon, rest = text.partition(":")
    if colon and kind in _KINDS:
        return _KINDS[kind](rest)
    if match := _REVIEW.fullmatch(text):
        return Review(number=int(match[1]))
    if _LIKE_REVIEW.fullmatch(text):
        raise UsageError(
            f"{text[:40]} is no review: their numbers have up to seven digits",
            hint=f"if it is a kernel option, write +options:{text[:40]}",
        )
    if _OPTION.fullmatch(text):
        return KernelOption(name=text)
    raise UsageError(f"{quoted(text)} is no change of a kernel", hint=_HINT)


def _option(name: str, *, enabled: bool) -> KernelOption:
    if not _OPTION.fullmatch(name):
        raise UsageError(
            f"{quoted(name)} is no kernel option",
            hint="options are written in capitals: INVARIANTS",
        )
    return KernelOption(name=name, enabled=enabled)


def _file(name: str) -> PatchFile:
    if not _FILE.fullmatch(name) or not name.strip("./"):
        raise UsageError(
            f"{quoted(name)} is no name for a patch",
            hint="rename the file: letters, digits, '.', '_', '-', '~' and '/', no '+'",
        )
    return PatchFile(name=name)


def _picked(text: str) -> Picked:
    parse_spec(text)
    return Picked(revision=text)


_KINDS: Mapping[str, Callable[[str], Change]] = {
    "commit": _picked,
    "file": _file,
    "options": lambda name: _option(name, enabled=True),
    "nooptions": lambda name: _option(name, enabled=False),
    "sysctl": parse_tunable,
}


def _subject(change: Change) -> str:
    """What a change is about: a variant says one thing of each."""
    match change:
        case KernelOption(name=name):
            return f"the option {name}"
        case Tunable(name=name):
            return f"the tunable {name}"
        case Review() | PatchFile() | Picked():
            return f"the patch {_change_text(change)}"


def _change_text(change: Change) -> str:
    match change:
        case Review(number=number):
            return f"D{number}"
        case PatchFile(name=name):
            return f"file:{name}"
        case Picked(revision=revision):
            return f"commit:{revision}"
        case KernelOption(name=name, enabled=enabled):
            # A bare D8526 is a review.
            mark = "options:" if _LIKE_REVIEW.fullmatch(name) else ""
            return f"{mark}{name}" if enabled else f"nooptions:{name}"
        case Tunable():
            return f"sysctl:{change.setting}"
