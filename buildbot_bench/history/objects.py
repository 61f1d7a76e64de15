"""Git's commits and tags, parsed from their bytes, and Revisions with harmless text."""

import re
from dataclasses import dataclass

import pygit2

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.revision import Revision

LONGEST_MESSAGE = 64 * 1024

_COMMIT, _TAG = 1, 4  # git_object_t
_LONGEST_LINE = 1000
# git accepts commits that libgit2 refuses: without an author, or with a date beyond 64 bits.
# What git writes itself: a tag of a tag of a commit is rare, and a longer chain is nobody's.
_MOST_TAGS = 8

# git's commit.c, parse_commit_buffer: the tree stands first and the parents follow, or it is no
# commit to git either.
_TREE = re.compile(rb"tree ([0-9a-f]{40})\n")
_PARENT = re.compile(rb"parent ([0-9a-f]{40})\n")
_TAGGED = re.compile(rb"object ([0-9a-f]{40})\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class RawCommit:
    """A commit with the text of its lines, which may hold anything; what is missing is empty.

    `author` and `committer` are a name, an address and a date, as git writes them; `parent` is the
    first one, `message` is cut to LONGEST_MESSAGE bytes.
    """

    oid: pygit2.Oid
    tree: pygit2.Oid
    parent: pygit2.Oid | None
    author: bytes
    committer: bytes
    encoding: bytes
    message: bytes


def commit_at(repository: pygit2.Repository, oid: pygit2.Oid) -> RawCommit:
    """The commit with a hash."""
    kind, content = _read(repository, oid)
    tree = _TREE.match(content) if kind == _COMMIT else None
    if tree is None:
        raise InfraError(f"the mirror lacks commit {oid}", hint="fetch it")
    parent = _PARENT.match(content, tree.end())
    head, _, message = content.partition(b"\n\n")
    return RawCommit(
        oid=oid,
        tree=_oid(tree[1]),
        parent=_oid(parent[1]) if parent else None,
        author=_line(head, b"author"),
        committer=_line(head, b"committer"),
        encoding=_line(head, b"encoding"),
        message=message[:LONGEST_MESSAGE],
    )


def tree_of(repository: pygit2.Repository, oid: pygit2.Oid) -> pygit2.Tree:
    """The files of a commit."""
    try:
        return repository[commit_at(repository, oid).tree].peel(pygit2.Tree)
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise InfraError(f"the mirror lacks the files of {oid}", hint="fetch it") from error


def is_commit(repository: pygit2.Repository, oid: pygit2.Oid) -> bool:
    """Whether the mirror has an object of that hash that is a commit."""
    return _read(repository, oid)[0] == _COMMIT


def named_by(repository: pygit2.Repository, reference: str) -> pygit2.Oid | None:
    """The commit that a reference names; None when there is none, or it names something else."""
    try:
        found = repository.references.get(reference)
    except ValueError:  # not a name that git allows
        return None
    return peeled(repository, pygit2.Oid(hex=str(found.resolve().target))) if found else None


def peeled(repository: pygit2.Repository, oid: pygit2.Oid) -> pygit2.Oid | None:
    """The commit that an object is or, being an annotated tag, leads to; None for another."""
    for _ in range(_MOST_TAGS):
        kind, content = _read(repository, oid)
        if kind == _COMMIT:
            return oid
        tagged = _TAGGED.match(content) if kind == _TAG else None
        if tagged is None:
            return None
        oid = _oid(tagged[1])
    return None


def _read(repository: pygit2.Repository, oid: pygit2.Oid) -> tuple[int, bytes]:
    """The kind and the content of an object; (0, b"") for one that the mirror lacks."""
    try:
        kind, content = repository.read(oid)
    except KeyError:
        return 0, b""
    except (ValueError, pygit2.GitError) as error:
        raise InfraError(f"the mirror's object {oid} is damaged: {error}") from error
    return int(kind), content


def _line(head: bytes, word: bytes) -> bytes:
    """What follows a word that begins a line: the first such line, cut to a length."""
    found = re.search(rb"^%s (.*)" % word, head, re.MULTILINE)
    return found[1][:_LONGEST_LINE] if found else b""


def _oid(digits: bytes) -> pygit2.Oid:
    return pygit2.Oid(hex=digits.decode("ascii"))


LONGEST_TEXT = 200
# The last second of the year 9999, beyond which neither calendars nor ISO 8601 go.
LAST_S = 253_402_300_799

# FreeBSD's committers' guide: "Differential Revision: https://reviews.freebsd.org/D8526".
_REVIEW = re.compile(
    rb"^Differential Revision:[ \t]*(?:https?://[\w.:/-]*/)?D(\d{1,9})[ \t\r]*$", re.MULTILINE
)

# A date behind the address; where there is none, it must have a time zone.
_DATE = re.compile(rb"[ \t]*(\d{1,20})(?!\S)")
_DATE_AND_ZONE = re.compile(rb"[ \t](\d{1,20})[ \t]+[+-]\d{4}[ \t]*$")

# Python has codecs that decode no text, or raise whatever they like: these are for texts alone.
_FOR_TEXT = re.compile(
    r"utf-?8|(us-)?ascii|iso-?8859-\d\d?|latin-?\d\d?|(windows|cp)-?\d{3,4}|koi8-[rut]"
    r"|euc-?(jp|kr)|shift[_-]?jis|iso-2022-jp|big5|gb(k|2312|18030)",
    re.IGNORECASE,
)


def as_revision(commit: RawCommit, *, position: int, svn: int | None) -> Revision:
    """What the rest of the program knows of a commit.

    `committed_at_s` is 0, which readers are not shown, when the committer's line has no date or
    one that no calendar has.
    """
    subject = commit.message[: 4 * LONGEST_TEXT].strip().partition(b"\n")[0]
    return Revision(
        sha=str(commit.oid),
        position=position,
        svn=svn,
        parent_sha=str(commit.parent) if commit.parent else None,
        subject=harmless(subject, commit.encoding),
        author=_person(commit.author, commit.encoding),
        committed_at_s=_seconds(commit.committer),
    )


def committer_of(commit: RawCommit) -> str:
    """Who committed it, in the same way."""
    return _person(commit.committer, commit.encoding)


def reviews_of(commit: RawCommit) -> tuple[int, ...]:
    """The Phabricator reviews that a message names on lines of their own, each once."""
    found = _REVIEW.findall(commit.message)
    return tuple(dict.fromkeys(int(number) for number in found))


def harmless(raw: bytes, encoding: bytes = b"") -> str:
    """One line of text for people, at most LONGEST_TEXT columns wide; see `core.legible`."""
    return one_line(raw.decode(_codec(encoding), errors="replace"), columns=LONGEST_TEXT)


def _codec(encoding: bytes) -> str:
    """The codec that a commit names, if Python has it; else git's own, UTF-8."""
    name = encoding.decode("ascii", errors="replace").strip()
    if not _FOR_TEXT.fullmatch(name):
        return "utf-8"
    try:
        b"".decode(name)
    except LookupError:
        return "utf-8"
    return name


def _person(line: bytes, encoding: bytes) -> str:
    who, bracket, _date = line.rpartition(b">")
    return harmless((who + bracket if bracket else _DATE_AND_ZONE.sub(b"", line)).strip(), encoding)


def _seconds(line: bytes) -> int:
    _who, bracket, date = line.rpartition(b">")
    found = _DATE.match(date) if bracket else _DATE_AND_ZONE.search(line)
    at_s = int(found[1]) if found else 0
    return at_s if at_s <= LAST_S else 0
