"""The check whether a commit's change fits another revision."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.revision import Revision
from buildbot_bench.history.git import run_git
from buildbot_bench.history.objects import tree_of

_TIMEOUT_S = 60.0
# A date that is wrong by years makes git walk the whole history: FreeBSD's takes it some seconds.
_WALK_S = 600.0
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")

# The files that a patch touches, as a revision has them: path, mode and hash.
Files = tuple[tuple[str, int, str], ...]


class Fit(StrEnum):
    """A fix may be in a revision already, fit it, or not fit it."""

    IN = "in"
    FITS = "fits"
    NOT = "does not fit"


def patch_of(mirror: Path, fix: Revision) -> bytes:
    """What a commit changes against its first parent, as `git apply` takes it."""
    pair = [str(pygit2.Oid(hex=sha)) for sha in (fix.parent_sha, fix.sha) if sha]
    return run_git(
        mirror,
        *("diff-tree", "-r", "-p", "--root", "--binary", "--full-index", "--no-renames"),
        *("--no-commit-id", *_PLAIN, *pair),
        timeout_s=_TIMEOUT_S,
    )


def descendants(mirror: Path, fix: Revision, shas: Iterable[str]) -> frozenset[str]:
    """Those of some revisions that have a commit in their history, or are it.

    One git for all of them. InfraError when the mirror lacks one.
    """
    asked = frozenset(shas)
    lines = [f"^{pygit2.Oid(hex=fix.sha)}", *(str(pygit2.Oid(hex=sha)) for sha in asked)]
    after = run_git(
        mirror,
        *("rev-list", "--ancestry-path", "--stdin"),
        stdin="".join(f"{line}\n" for line in lines).encode(),
        timeout_s=_WALK_S,
    )
    return asked & {fix.sha, *after.decode("ascii").split()}


def files_at(repository: pygit2.Repository, sha: str, paths: Iterable[str]) -> Files:
    """Those of some files that a revision has; revisions that have the same take the same patch."""
    tree = tree_of(repository, pygit2.Oid(hex=sha))
    there = ((path, tree[path]) for path in sorted(paths) if path in tree)
    return tuple((path, int(entry.filemode), str(entry.id)) for path, entry in there)


def applies(mirror: Path, patch: bytes, files: Files) -> bool:
    """Whether git would apply a patch to these files, as the builder will have it do."""
    listed = b"".join(f"{mode:06o} {sha}\t{path}\0".encode() for path, mode, sha in files)
    with TemporaryDirectory(prefix="bench-fit-") as place:
        index = {"GIT_INDEX_FILE": str(Path(place) / "index")}
        git = partial(run_git, mirror, timeout_s=_TIMEOUT_S, more=index)
        git("update-index", "-z", "--index-info", stdin=listed)
        try:
            git("apply", "--cached", "--check", stdin=patch)
        except InfraError as refusal:
            if "fatal:" in refusal.message:
                raise
            return False
    return True
