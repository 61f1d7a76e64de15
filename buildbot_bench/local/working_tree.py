"""The working tree as a commit, so that what nobody committed yet is measured like a revision."""

import os
import shutil
import tempfile
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.local.git import Git, GitRefusedError, identity

WORKING_TREE = "."
"""The name by which a person means it."""
_MOST_NEW_BYTES = 1 << 30  # of files that git does not track: more are what a build left there


def working_tree(git: Git) -> str:
    """The hash of a commit that has the tracked and the new files as they lie there, upon HEAD.

    HEAD itself where they do not differ. No branch names the commit, and its date is HEAD's: the
    same files give the same commit. Neither the files nor the index are touched; ignored files
    stay out.

    Raises InfraError: git fails, or its objects cannot be written.
    """
    try:
        top = Path(os.fsdecode(git.bytes("rev-parse", "--show-toplevel").rstrip(b"\n")))
        head = git.text("rev-parse", "--verify", "HEAD^{commit}")
    except GitRefusedError as error:
        raise UsageError(
            f"{git.place} has no working tree with a commit: {error}",
            hint="go into a checkout, or name a commit",
        ) from error
    _check(git, top)
    try:
        with tempfile.TemporaryDirectory(prefix="bench-index-") as room:
            index = Path(room) / "index"
            kept = git.bytes("rev-parse", "--path-format=absolute", "--git-path", "index")
            if (own := Path(os.fsdecode(kept.rstrip(b"\n")))).is_file():
                shutil.copy(own, index)
            more = {"GIT_INDEX_FILE": str(index)}
            git.bytes("add", "--all", place=top, more=more)
            tree = git.bytes("write-tree", place=top, more=more).decode().strip()
        if tree == git.text("rev-parse", "--verify", f"{head}^{{tree}}"):
            return head
        at_s = git.text("log", "--max-count=1", "--format=%ct", head)
        words = ("commit-tree", tree, "-p", head, "-m", "What is not committed yet")
        return git.bytes(*words, more=identity("bench-compare", int(at_s))).decode().strip()
    except (GitRefusedError, OSError) as error:
        raise InfraError(f"the working tree cannot be read: {error}") from error


def _check(git: Git, top: Path) -> None:
    """See that git can take the files as they are, and that they are a source tree."""
    try:
        conflicts = git.bytes("diff", "--name-only", "--diff-filter=U", "-z", place=top)
        others = git.bytes("ls-files", "--others", "--exclude-standard", "-z", place=top)
    except GitRefusedError as error:
        raise InfraError(f"git cannot list the working tree: {error}") from error
    if conflicts:
        name = quoted(os.fsdecode(conflicts.split(b"\0")[0]))
        raise UsageError(f"{name} is in conflict", hint="resolve the merge first, or name a commit")
    sizes = {
        name: (top / name).lstat().st_size
        for name in map(os.fsdecode, others.split(b"\0"))
        if name and os.path.lexists(top / name)
    }
    if sum(sizes.values()) > _MOST_NEW_BYTES:
        raise UsageError(
            f"the new files of the working tree have more than {_MOST_NEW_BYTES >> 30} GiB, "
            f"most of it {quoted(max(sizes, key=lambda name: sizes[name]))}",
            hint="name in .gitignore what a build leaves there",
        )
