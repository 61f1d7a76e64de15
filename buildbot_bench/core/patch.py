"""What can be told of a patch by reading it: how to apply it, and which hunk did not fit.

It applies nothing: git does, on the builder. Patches and git's complaints are hostile text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from buildbot_bench.core.errors import UsageError

# FreeBSD's largest reviews are a few hundred kilobytes.
MOST_BYTES = 4 * 1024 * 1024

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@", re.ASCII)
_FILE = re.compile(r"^(?:---|\+\+\+) ([^\t\r\n]+)")
_MISFIT = re.compile(r"^error: patch failed: (.{1,500}):(\d{1,9})\r?$", re.MULTILINE | re.ASCII)
_COMPLAINT = re.compile(r"^(?:error|fatal): (.{1,300}?)\r?$", re.MULTILINE)


def check_patch(body: bytes, name: str) -> None:
    """Raise UsageError when these bytes are no unified diff that we take."""
    if len(body) > MOST_BYTES:
        raise UsageError(
            f"{name} has {len(body)} bytes, more than {MOST_BYTES}",
            hint="commit it to a branch and name that",
        )
    text = body.decode("utf-8", "replace")
    if not any(_HUNK.match(line) for line in text.splitlines()) and "\nrename to " not in text:
        raise UsageError(f"{name} is no patch", hint="give a unified diff, as `git diff` writes it")


def strip_level(body: str) -> int:
    """How many leading directories of its paths are not the tree's: 1 for git's a/ and b/, else 0.

    Reviews of the Subversion era name the files as they are.
    """
    prefixed = [name.startswith(("a/", "b/")) for name in _names(body) if name != "/dev/null"]
    return 1 if prefixed and all(prefixed) else 0


def misfit(body: str, complaint: str) -> str:
    """What git said of a patch that it refused, for a reader: `sys/net/if.c, hunk 3`."""
    if found := _MISFIT.search(complaint):
        path, line = found[1], int(found[2])
        hunk = _hunk_at(body, path, line)
        return f"{path}, hunk {hunk}" if hunk else f"{path}, line {line}"
    if found := _COMPLAINT.search(complaint):
        return found[1]
    return "git refuses it without a reason"


def _names(body: str) -> Iterator[str]:
    for old, new in _headers(body):
        yield from (old, new)


def _headers(body: str) -> Iterator[tuple[str, str]]:
    """The names of each file's header: a line of minus signs, followed by one of plus signs."""
    lines = body.splitlines()
    for first, second in pairwise(lines):
        if first.startswith("--- ") and second.startswith("+++ "):
            old, new = _FILE.match(first), _FILE.match(second)
            if old and new:
                yield old[1].rstrip(), new[1].rstrip()


def _hunk_at(body: str, path: str, line: int) -> int | None:
    """The number of the hunk of a file that begins at a line of the old text; counted from 1."""
    level, current, number = strip_level(body), "", 0
    lines = body.splitlines()
    for position, text in enumerate(lines):
        if text.startswith("+++ ") and position and lines[position - 1].startswith("--- "):
            names = [lines[position - 1][4:], text[4:]]
            stripped = [name.split("\t")[0].rstrip().split("/", level)[-1] for name in names]
            current, number = (path if path in stripped else ""), 0
        elif match := _HUNK.match(text):
            number += 1
            if current and int(match[1]) == line:
                return number
    return None
