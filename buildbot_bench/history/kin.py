"""The reverts and picks of a commit, by what messages say and by equal patches."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.report.related import Kin, Relation
from buildbot_bench.history.git import run_git, streaming_git
from buildbot_bench.history.objects import LONGEST_MESSAGE, harmless

MOST_PATCHES = 500
"""So many later commits have their patches compared: the newest that touch the same files."""
_MOST_PATHS = 20  # of the culprit, by which those are chosen
_MOST_KIN = 8  # that are named, of each commit
_TIMEOUT_S = 60.0
_LINES = ("--branches", "--remotes")
# A reversed patch has its prefixes the other way round, and patch-id reads them.
_PLAIN = ("--no-prefix", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
# As git writes it itself; by hand, some shorten the hash.
_SAYS = re.compile(
    r"This reverts commit ([0-9a-f]{10,40})|cherry picked from commit ([0-9a-f]{10,40})"
)


def kin_of(repository: Path, sha: str, branch: str = "") -> tuple[Kin, ...]:
    """The kin of a commit in a git directory; of several branches that have one, `branch` first.

    What git cannot tell in time, or in a clone without old objects, is left out.
    """
    commit = str(pygit2.Oid(hex=sha))
    found: dict[str, Kin] = {}
    for ask in (_told, _telling, _alike):
        with suppress(InfraError):
            for one in ask(repository, commit):
                found.setdefault(one.sha, one)
    found.pop(commit, None)
    return tuple(_placed(repository, commit, one, branch) for one in [*found.values()][:_MOST_KIN])


def _told(repository: Path, commit: str) -> Iterator[Kin]:
    """Those that its own message names."""
    message = run_git(repository, "log", "-1", "--format=%B", commit, timeout_s=_TIMEOUT_S)
    for reverted, picked in _SAYS.findall(message[:LONGEST_MESSAGE].decode("utf-8", "replace")):
        relation = Relation.REVERTS if reverted else Relation.PICKED_FROM
        yield from _known(repository, reverted or picked, relation)


def _known(repository: Path, name: str, relation: Relation) -> Iterator[Kin]:
    """A named commit, with its subject where the repository has it."""
    sha, subject = name, ""
    with suppress(InfraError):
        told = run_git(repository, "log", "-1", "--format=%H%x00%s", name, timeout_s=_TIMEOUT_S)
        sha, _, rest = told.decode("ascii", "replace").partition("\0")
        subject = harmless(told.partition(b"\0")[2].strip()) if rest else ""
    yield Kin(relation=relation, sha=sha, subject=subject)


def _telling(repository: Path, commit: str) -> Iterator[Kin]:
    """Later commits whose messages name it."""
    output = run_git(
        repository,
        *("log", "-z", "--format=%H%x00%s%x00%B", f"--grep={commit[:10]}", "--fixed-strings"),
        *(f"--max-count={MOST_PATCHES}", *_LINES, "--not", f"{commit}^@"),
        timeout_s=_TIMEOUT_S,
    )
    fields = output.split(b"\0")
    for sha, subject, body in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        for reverted, picked in _SAYS.findall(body[:LONGEST_MESSAGE].decode("utf-8", "replace")):
            if commit.startswith(reverted or picked):
                relation = Relation.REVERTED_BY if reverted else Relation.PICKED_AS
                yield Kin(relation=relation, sha=sha.decode(), subject=harmless(subject))


def _alike(repository: Path, commit: str) -> Iterator[Kin]:
    """Later commits with the same patch, or with its inverse."""
    names = run_git(
        repository,
        *("diff-tree", "-r", "-z", "--no-commit-id", "--name-only", "--root", commit),
        timeout_s=_TIMEOUT_S,
    )
    paths = [name.decode("utf-8", "surrogateescape") for name in names.split(b"\0") if name]
    if not paths:
        return
    own = dict(_patches(repository, "-1", commit)).get(commit)
    places = [f":(literal){path}" for path in paths[:_MOST_PATHS]]
    later = (f"--max-count={MOST_PATCHES}", *_LINES, "--not", f"{commit}^@", "--", *places)
    for how, relation in ((("-R",), Relation.REVERTED_BY), ((), Relation.PICKED_AS)):
        for sha, patch in _patches(repository, *how, *later):
            if patch == own and sha != commit:
                for one in _known(repository, sha, relation):
                    yield replace(one, by_patch=True)


def _patches(repository: Path, *what: str) -> Iterator[tuple[str, str]]:
    """Commits with the digests of their patches, by `git patch-id`."""
    log = ("log", "-p", "--full-diff", "--no-merges", *_PLAIN, *what)
    with streaming_git(repository, *log, timeout_s=_TIMEOUT_S) as patches:
        digests = ("patch-id", "--stable")
        with streaming_git(repository, *digests, timeout_s=_TIMEOUT_S, stdin=patches) as output:
            for line in output:
                digest, _, sha = line.decode().strip().partition(" ")
                yield sha, digest


def _placed(repository: Path, commit: str, kin: Kin, branch: str) -> Kin:
    """The same with a branch that has it: for a pick, one that has not the commit itself."""
    without = (f"--no-contains={commit}",) if kin.relation is Relation.PICKED_AS else ()
    names: list[str] = []
    with suppress(InfraError):
        told = run_git(
            repository,
            *("for-each-ref", f"--contains={kin.sha}", *without, "--format=%(refname:short)"),
            *("refs/heads", "refs/remotes"),
            timeout_s=_TIMEOUT_S,
        )
        names = [harmless(name) for name in told.split(b"\n") if name]
    on = branch if branch in names else next(iter(names), "")
    return replace(kin, branch=on)
