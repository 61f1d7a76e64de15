"""A commit of git as a Revision, with its hostile text made harmless; it knows no branch."""

from __future__ import annotations

import re
import unicodedata

import pygit2

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.revision import Revision

LONGEST_TEXT = 200

# FreeBSD's committers' guide: "Differential Revision: https://reviews.freebsd.org/D8526".
_REVIEW = re.compile(
    rb"^Differential Revision:[ \t]*(?:https?://[\w.:/-]*/)?D(\d{1,9})[ \t\r]*$", re.MULTILINE
)
_LONGEST_MESSAGE = 64 * 1024

# Controls (C0, C1), formats (bidirectional overrides, zero width), surrogates, line separators.
_DANGEROUS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def commit_at(repository: pygit2.Repository, oid: pygit2.Oid) -> pygit2.Commit:
    """The commit with a hash that is known to be one; InfraError when the mirror lacks it."""
    try:
        return repository[oid].peel(pygit2.Commit)
    except KeyError as error:
        raise InfraError(f"the mirror lacks commit {oid}", hint="fetch it") from error


def as_revision(commit: pygit2.Commit, *, position: int, svn: int | None) -> Revision:
    """What the rest of the program knows of a commit."""
    message = commit.raw_message[: 4 * LONGEST_TEXT].strip()
    return Revision(
        sha=str(commit.id),
        position=position,
        svn=svn,
        parent_sha=str(commit.parent_ids[0]) if commit.parent_ids else None,
        subject=harmless(message.partition(b"\n")[0]),
        author=person(commit.author),
        committed_at_s=commit.commit_time,
    )


def person(who: pygit2.Signature) -> str:
    """A name with an address, as somebody wrote them into a commit."""
    return harmless(who.raw_name + b" <" + who.raw_email + b">")


def reviews_of(commit: pygit2.Commit) -> tuple[int, ...]:
    """The Phabricator reviews that a message names on lines of their own, each once."""
    found = _REVIEW.findall(commit.raw_message[:_LONGEST_MESSAGE])
    return tuple(dict.fromkeys(int(number) for number in found))


def harmless(raw: bytes) -> str:
    """One line of text for people: no control or format character, at most LONGEST_TEXT long."""
    text = raw.decode("utf-8", errors="replace").replace("\t", " ")
    kept = "".join(char for char in text if unicodedata.category(char) not in _DANGEROUS)
    return kept if len(kept) <= LONGEST_TEXT else kept[: LONGEST_TEXT - 1] + "…"
