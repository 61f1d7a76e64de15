"""The files and lines that commits change against their first parents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.read_files import FileChange
from buildbot_bench.core.revision import Revision
from buildbot_bench.history.git import run_git

# Files with content of their own: neither a link nor another repository, and not absent (000000).
_PLAIN = frozenset({"100644", "100755"})
_TIMEOUT_S = 600.0
_READING_S = 60.0


def changed_paths(
    mirror: Path, revisions: Sequence[Revision]
) -> Iterator[tuple[str, Sequence[str]]]:
    """The hash of each revision and the files that it adds, changes or removes.

    InfraError when the mirror lacks one of them.
    """
    for sha, changes in file_changes(mirror, revisions):
        yield sha, [change.path for change in changes]


def file_changes(
    mirror: Path, revisions: Sequence[Revision]
) -> Iterator[tuple[str, Sequence[FileChange]]]:
    """The hash of each revision and what it does to which files, against its first parent.

    One git for all: 1600 commits take a tenth of a second, where libgit2 takes ten.

    Raises:
        InfraError: When the mirror lacks one of them.
    """
    # "COMMIT PARENT" makes git compare with that parent alone, a merge with its first.
    asked = [(revision.sha, *filter(None, [revision.parent_sha])) for revision in revisions]
    lines = [" ".join(str(pygit2.Oid(hex=sha)) for sha in pair) for pair in asked]
    output = run_git(
        mirror,
        *("diff-tree", "--stdin", "--root", "--always", "-r", "-z", "--raw", "--no-renames"),
        stdin="".join(f"{line}\n" for line in lines).encode(),
        timeout_s=_TIMEOUT_S,
    )
    changed = dict(_parse(output.decode("utf-8", errors="replace")))
    for revision in revisions:
        if revision.sha not in changed:
            raise InfraError(f"the mirror lacks {revision.sha} or its parent", hint="fetch it")
        yield revision.sha, changed[revision.sha]


def changed_lines(mirror: Path, revision: Revision) -> str:
    """What a commit changes against its first parent: a diff without context.

    Files that git takes for binary are named without their contents. InfraError when the mirror
    lacks one of the two, or when reading it takes longer than a commit is worth.
    """
    pair = [str(pygit2.Oid(hex=sha)) for sha in (revision.parent_sha, revision.sha) if sha]
    output = run_git(
        mirror,
        *("diff-tree", "-r", "-p", "-U0", "--root", "--no-renames", "--no-commit-id"),
        *("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"),
        *pair,
        timeout_s=_READING_S,
    )
    return output.decode("utf-8", errors="replace")


def _parse(output: str) -> Iterator[tuple[str, Sequence[FileChange]]]:
    """Read COMMIT NUL (":" MODES HASHES STATUS NUL PATH NUL)* for each commit.

    A path follows what begins with a colon and nothing else, so that no file's name is taken for
    a commit.
    """
    sha, changes = "", list[FileChange]()
    fields = iter(output.split("\0"))
    for text in fields:
        if text.startswith(":"):
            edited = text[1:7] in _PLAIN and text[8:14] in _PLAIN
            changes.append(FileChange(path=next(fields), edited=edited))
        else:
            if sha:
                yield sha, changes
            sha, changes = text, []
