"""A git commit as a Revision, with its hostile text made harmless."""

from __future__ import annotations

import re

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.revision import Revision
from buildbot_bench.history.objects import RawCommit

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
        author=author_of(commit),
        committed_at_s=_seconds(commit.committer),
    )


def author_of(commit: RawCommit) -> str:
    """Who wrote it: a name with an address, as far as the line can be read."""
    return _person(commit.author, commit.encoding)


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
