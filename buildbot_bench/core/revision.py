"""What a revision is and how a person writes one; it knows no git."""

from __future__ import annotations

import re
from dataclasses import dataclass

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import in_json

SHA_LENGTH = 40
ABBREVIATION_LENGTH = 12

_SVN = re.compile(r"r([0-9]{1,9})")
_COUNT = re.compile(r"n([0-9]{1,9})")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """One first-parent commit.

    `position` is the number of first-parent commits up to and including this one
    (`git rev-list --first-parent --count`), which is FreeBSD's nNNNNNN. `committed_at_s` is 0 when
    the commit has no date, or one that cannot be.
    """

    sha: str
    position: int
    svn: int | None = None
    parent_sha: str | None = None
    subject: str = ""
    author: str = ""
    committed_at_s: int = 0

    @property
    @in_json
    def label(self) -> str:
        """The name a reader knows: r311849 in the svn era, else n245062."""
        return f"n{self.position}" if self.svn is None else f"r{self.svn}"

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


Spec = SvnNumber | CommitCount | Name


def parse_spec(text: str) -> Spec:
    """Read a revision as a person writes it.

    A `Name` that parses may still not exist. Options (`-x`), ranges and shell characters are
    refused here, so that the text is safe to hand on to git.

    Raises:
        UsageError: For anything that is not a revision's notation.
    """
    if match := _SVN.fullmatch(text):
        return SvnNumber(number=int(match[1]))
    if match := _COUNT.fullmatch(text):
        return CommitCount(number=int(match[1]))
    if _NAME.fullmatch(text) and ".." not in text:
        return Name(text=text)
    raise UsageError(
        f"{text[:80]!r} is not a revision",
        hint="write r311849, n245062, a commit hash, a tag or a branch",
    )
