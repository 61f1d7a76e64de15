"""The git program, run without the user's settings, and the differences that it makes."""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import IO, cast

import pygit2

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.read_files import FileChange
from buildbot_bench.core.revision import Revision
from buildbot_bench.history.objects import tree_of

_LONGEST_COMPLAINT = 64 * 1024
# rev-list would write each hash by itself.
_UNHURRIED = MappingProxyType({"GIT_FLUSH": "0"})


def run_git(
    mirror: Path,
    verb: str,
    *arguments: str,
    timeout_s: float,
    stdin: bytes = b"",
    more: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """What `git --git-dir=MIRROR VERB ARGUMENTS` prints.

    `more` is added to its environment. Its whole process group is ended after `timeout_s`. It never
    asks for a password.
    """
    with started(mirror, (verb, *arguments), stdin=subprocess.PIPE, more=more) as process:
        try:
            output, complaint = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise InfraError(f"git {verb} took more than {timeout_s:g} s") from error
    if process.returncode:
        raise InfraError(_failure(verb, process.returncode, complaint))
    return output


@contextmanager
def streaming_git(
    mirror: Path,
    verb: str,
    *arguments: str,
    timeout_s: float,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
) -> Iterator[IO[bytes]]:
    """What git prints, as it prints it; one that has more to say than is read is ended."""
    with (
        tempfile.TemporaryFile() as complaint,
        started(
            mirror, (verb, *arguments), stdin=stdin, stderr=complaint, more=_UNHURRIED
        ) as process,
    ):
        late = threading.Event()

        def end() -> None:
            late.set()
            kill(process)

        timer = threading.Timer(timeout_s, end)
        timer.daemon = True
        timer.start()
        try:
            with cast("IO[bytes]", process.stdout) as output:
                yield output
            process.wait()
        finally:
            timer.cancel()
        if late.is_set():
            raise InfraError(f"git {verb} took more than {timeout_s:g} s")
        if process.returncode not in {0, -signal.SIGPIPE}:
            complaint.seek(0)
            said = complaint.read(_LONGEST_COMPLAINT)
            raise InfraError(_failure(verb, process.returncode, said))


@contextmanager
def started(
    mirror: Path,
    command: Sequence[str],
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.PIPE,
    stderr: IO[bytes] | int = subprocess.PIPE,
    inherit: Sequence[int] = (),
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[subprocess.Popen[bytes]]:
    """A git that runs; no exception leaves it behind, nor the helpers that it started."""
    try:
        process = subprocess.Popen(  # noqa: S603 - a list, and nobody's text is an option in it
            ["git", f"--git-dir={mirror}", *command],  # noqa: S607 - the one that is on the PATH
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**_environment(), **more},
            pass_fds=inherit,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise InfraError("there is no git command", hint="install git on the master") from error
    with process:
        try:
            yield process
        except BaseException:
            kill(process)
            raise


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a git and the helpers that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    return {
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _failure(verb: str, status: int, complaint: bytes) -> str:
    reason = complaint.decode(errors="replace").strip() or f"exit {status}"
    return f"git {verb}: {reason}"


# Files with content of their own: neither a link nor another repository, and not absent (000000).
_PLAIN = frozenset({"100644", "100755"})
_TIMEOUT_S = 600.0
_READING_S = 60.0


def changed_paths(
    mirror: Path, revisions: Sequence[Revision]
) -> Iterator[tuple[str, Sequence[str]]]:
    """The hash of each revision and the files that it adds, changes or removes."""
    for sha, changes in file_changes(mirror, revisions):
        yield sha, [change.path for change in changes]


def file_changes(
    mirror: Path, revisions: Sequence[Revision]
) -> Iterator[tuple[str, Sequence[FileChange]]]:
    """The hash of each revision and what it does to which files, against its first parent.

    One git for all: 1600 commits take a tenth of a second, where libgit2 takes ten.
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


_FIT_TIMEOUT_S = 60.0
# A date that is wrong by years makes git walk the whole history: FreeBSD's takes it some seconds.
_WALK_S = 600.0
_PLAIN_FIT = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")

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
        *("--no-commit-id", *_PLAIN_FIT, *pair),
        timeout_s=_FIT_TIMEOUT_S,
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
        git = partial(run_git, mirror, timeout_s=_FIT_TIMEOUT_S, more=index)
        git("update-index", "-z", "--index-info", stdin=listed)
        try:
            git("apply", "--cached", "--check", stdin=patch)
        except InfraError as refusal:
            if "fatal:" in refusal.message:
                raise
            return False
    return True
