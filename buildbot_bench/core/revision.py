"""Revisions and branches, and the notation in which people write them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import in_json
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.triggers import compile_pattern

SHA_LENGTH = 40
ABBREVIATION_LENGTH = 12
MOST_BRANCHES = 64
"""So many are watched at most: each costs a look at its history with every fetch."""
PLAIN_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}", re.ASCII)
"""Branches with other names are passed over: whoever may push names them as they like."""

_SVN = re.compile(r"r([0-9]{1,9})")
_COUNT = re.compile(r"n([0-9]{1,9})")
# A name, perhaps a date, and steps back; `@` alone, or before a date, is HEAD.
_WRITTEN = re.compile(
    r"(?:(?P<name>[^~^@{}:]+)|(?=@)(?:@(?!\{))?)(?:@\{(?P<day>[^{}]{1,40})\})?"
    r"(?P<steps>(?:~[0-9]{0,9}|\^(?:[0-9]{1,2}|\{(?:commit)?\})?){0,20})"
)
_STEP = re.compile(r"(~[0-9]{0,9})|(\^(?:[0-9]{1,2}|\{(?:commit)?\})?)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?Z?)?")
_DAY_S = 24 * 3600
# FreeBSD's own kernels call themselves so: `uname -v` says stable/14-n267886-7b0fa0a3f6c3.
_ON_BRANCH = re.compile(r"(.+)-([rn])([0-9]{1,9})(?:-g?[0-9a-f]{7,40})?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """One first-parent commit.

    `position` is the number of first-parent commits up to and including this one
    (`git rev-list --first-parent --count`), which is FreeBSD's nNNNNNN. `committed_at_s` is 0 when
    the commit has no date, or one that cannot be. `name` is what a commit of a side branch is
    called, whose position is that in a range only.
    """

    sha: str
    position: int
    svn: int | None = None
    parent_sha: str | None = None
    subject: str = ""
    author: str = ""
    committed_at_s: int = 0
    name: str = ""

    @property
    @in_json
    def label(self) -> str:
        """The name a reader knows: r311849 in the svn era, else n245062."""
        return self.name or (f"n{self.position}" if self.svn is None else f"r{self.svn}")

    @property
    def short_sha(self) -> str:
        """The first 12 digits of the hash."""
        return self.sha[:ABBREVIATION_LENGTH]


@dataclass(frozen=True, kw_only=True, slots=True)
class Particulars:
    """What a commit says besides its place in the history.

    `committer` is a name with an address, as `Revision.author` is; `reviews` are the numbers of
    the Phabricator reviews that the message names, `paths` the files that the commit changes.
    """

    committer: str = ""
    reviews: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RevisionRange:
    """The first-parent chain from the old end to the new one, both included, oldest first."""

    revisions: tuple[Revision, ...]

    @property
    def old(self) -> Revision:
        """The old end: position 0 of a search."""
        return self.revisions[0]

    @property
    def new(self) -> Revision:
        """The new end: position n of a search."""
        return self.revisions[-1]

    @property
    def n(self) -> int:
        """How many commits lie after the old end."""
        return len(self.revisions) - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SvnNumber:
    """`r311849`: a Subversion revision, known from git notes."""

    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitCount:
    """`n245062`: the 245062nd first-parent commit."""

    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Name:
    """A hash, an abbreviated hash, a tag or a branch."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Dated:
    """`main@{2026-01-31}`: the newest first parent of another revision that is not younger.

    `day` is as it was written; without a time of day it means the end of that day, in UTC.
    """

    of: SvnNumber | CommitCount | Name
    day: str

    @property
    def at_s(self) -> int:
        """Seconds since 1970; ValueError when there is no such day, or no such time."""
        when = datetime.fromisoformat(self.day.removesuffix("Z")).replace(tzinfo=UTC)
        whole_day = len(self.day) == len("2026-01-31")
        return int(when.timestamp()) + (_DAY_S - 1 if whole_day else 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ancestor:
    """`stable/14~3`: so many first parents before another revision."""

    of: SvnNumber | CommitCount | Name | Dated
    generations: int


Spec = SvnNumber | CommitCount | Name | Dated | Ancestor

HEAD = "HEAD"
"""The tip of the first branch that is watched; people write `@`, too."""


def parse_spec(text: str) -> Spec:
    """Read a revision as a person writes it, in git's notation (gitrevisions(7)) or FreeBSD's.

    A `Name` that parses may still not exist. Options (`-x`), ranges, files and shell characters are
    refused here, so that the text is safe to hand on to git.
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise UsageError(_not_a_revision(text), hint=_what_to_write(text))
    named = _parse_named(match["name"] or HEAD, text)
    of = named if match["day"] is None else _dated(named, match["day"], text)
    steps = _STEP.findall(match["steps"])
    generations = sum(_generations(back, parent, text) for back, parent in steps)
    return Ancestor(of=of, generations=generations) if generations else of


def _generations(back: str, parent: str, whole: str) -> int:
    if back:
        return int(back[1:] or "1")
    match parent.removeprefix("^"):
        case "" | "1":
            return 1
        case "0" | "{}" | "{commit}":
            return 0
    raise UsageError(
        f"{quoted(whole)} leaves the first-parent history",
        hint=f"a merge is one commit here, and {parent} one that it brought in: name its hash",
    )


def _dated(of: SvnNumber | CommitCount | Name, day: str, whole: str) -> Dated:
    dated = Dated(of=of, day=day)
    try:
        if _DAY.fullmatch(day) and dated.at_s >= 0:
            return dated
    except ValueError:
        pass
    raise UsageError(
        f"{quoted(day, columns=40)} of {quoted(whole)} is no date",
        hint="write main@{2026-01-31}, in UTC",
    )


def _parse_named(text: str, whole: str) -> SvnNumber | CommitCount | Name:
    if match := _SVN.fullmatch(text):
        return SvnNumber(number=int(match[1]))
    if match := _COUNT.fullmatch(text):
        return CommitCount(number=int(match[1]))
    if PLAIN_BRANCH.fullmatch(text) and ".." not in text:
        return Name(text=text)
    raise UsageError(_not_a_revision(whole), hint=_what_to_write(whole))


def _not_a_revision(text: str) -> str:
    return f"{quoted(text)} is not a revision"


def _what_to_write(text: str) -> str:
    if ".." in text:
        return "a range has two ends: name them one by one, the old end first"
    if ":" in text and not text.startswith("-"):
        return "the text after ':' is a file or a message: name the commit alone"
    return "write r311849, n245062, stable/14~3, a commit hash, a tag or a branch"


def spec_text(spec: Spec) -> str:
    """A revision as `parse_spec` reads it."""
    match spec:
        case SvnNumber(number=number):
            return f"r{number}"
        case CommitCount(number=number):
            return f"n{number}"
        case Name(text=text):
            return text
        case Dated(of=of, day=day):
            return f"{spec_text(of)}@{{{day}}}"
        case Ancestor(of=of, generations=generations):
            return f"{spec_text(of)}~{generations}"


def named_on_branch(name: str) -> tuple[str, SvnNumber | CommitCount] | None:
    """The branch and the number of `stable/14-n267886`, with a hash or without; None of others."""
    match = _ON_BRANCH.fullmatch(name)
    if match is None:
        return None
    number = int(match[3])
    return match[1], SvnNumber(number=number) if match[2] == "r" else CommitCount(number=number)


_DIGITS = re.compile(r"(\d+)")


def is_literal(pattern: str) -> bool:
    """Whether a pattern is the name of one branch."""
    return PLAIN_BRANCH.fullmatch(pattern) is not None


def selected_branches(patterns: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    """The branches that patterns take, in the patterns' order; of one pattern stable/9 before 10.

    Patterns are read in order, and one with `!` in front takes back what those before it took.
    """
    found = {name: place for name in names if (place := _place(patterns, name)) is not None}
    return tuple(sorted(found, key=lambda name: (found[name], natural_order(name))))


def natural_order(name: str) -> tuple[tuple[str, int], ...]:
    """A key by which numbers within names are ordered as numbers."""
    parts = _DIGITS.split(name)
    numbers = [int(number) for number in parts[1::2]]
    return tuple(zip(parts[::2], [*numbers, -1], strict=True))


def _place(patterns: Sequence[str], name: str) -> int | None:
    """The number of the pattern that takes a branch; None when none does."""
    if not PLAIN_BRANCH.fullmatch(name):
        return None
    place = None
    for number, pattern in enumerate(patterns):
        if pattern.startswith("!"):
            if compile_pattern(pattern[1:]).fullmatch(name):
                place = None
        elif place is None and compile_pattern(pattern).fullmatch(name):
            place = number
    return place


def repository_of(branch: str) -> str:
    """The repository of a branch: `ports` of `ports:main`; empty, of the first one's `main`."""
    return branch.rpartition(":")[0]


def name_in_repository(branch: str) -> str:
    """What a branch is called in its own repository: `main`, of `ports:main` too."""
    return branch.rpartition(":")[2]


def branch_in(repository: str, name: str) -> str:
    """The branch of that name in a repository, as a farm calls it; `repository` as above."""
    return f"{repository}:{name}" if repository else name


_OF_REPOSITORY = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,49}):(.*)", re.ASCII | re.DOTALL)


def repository_named(written: str) -> tuple[str, str]:
    """The repository that stands before a revision, may be empty, and the revision: `ports:n12`."""
    match = _OF_REPOSITORY.fullmatch(written)
    return (match[1], match[2]) if match else ("", written)
