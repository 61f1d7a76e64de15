"""Finds the commit that a branch, a tag or a hash names; it knows no numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, SHA_LENGTH
from buildbot_bench.history.git import run_git

_ABBREVIATION = re.compile(r"[0-9a-f]{4,40}", re.IGNORECASE)
_NAMESPACES = ("refs/heads/", "refs/tags/")
_LOOKUP_TIMEOUT_S = 60.0


def branch_tip(repository: pygit2.Repository, branch: str) -> pygit2.Oid:
    """The newest commit of a branch; UsageError when there is no such branch."""
    if oid := _peeled(repository, f"refs/heads/{branch}"):
        return oid
    raise UsageError(
        f"there is no branch {branch!r}", hint=_suggestion(repository, branch, _NAMESPACES[:1])
    )


def lookup(repository: pygit2.Repository, name: str) -> pygit2.Oid:
    """The commit of a full hash, a branch, a tag or an abbreviated hash, in that order.

    Raises UsageError when there is none, or when an abbreviation stands for several.
    """
    if len(name) == SHA_LENGTH and _ABBREVIATION.fullmatch(name) and name.lower() in repository:
        if oid := _commit(repository[name.lower()]):
            return oid
        raise UsageError(f"{name} is no commit")
    for namespace in _NAMESPACES:
        if oid := _peeled(repository, namespace + name):
            return oid
    candidates = list(_abbreviated(repository, name))
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        shas = ", ".join(str(oid)[:ABBREVIATION_LENGTH] for oid in candidates)
        raise UsageError(f"{name} is short for {len(candidates)} commits", hint=f"one of {shas}?")
    raise UsageError(
        f"there is no commit, tag or branch {name!r}",
        hint=_suggestion(repository, name, _NAMESPACES),
    )


def _peeled(repository: pygit2.Repository, reference: str) -> pygit2.Oid | None:
    try:
        found = repository.references.get(reference)
    except ValueError:  # not a name that git allows
        return None
    return None if found is None else _commit(repository[found.resolve().target])


def _commit(target: pygit2.Object) -> pygit2.Oid | None:
    """The commit that an object is or, being an annotated tag, points to."""
    try:
        return target.peel(pygit2.Commit).id
    except (pygit2.GitError, ValueError):
        return None


def _abbreviated(repository: pygit2.Repository, name: str) -> Iterator[pygit2.Oid]:
    if not _ABBREVIATION.fullmatch(name):
        return
    listed = run_git(
        Path(repository.path),
        "rev-parse",
        f"--disambiguate={name.lower()}",
        timeout_s=_LOOKUP_TIMEOUT_S,
    )
    for sha in listed.decode("ascii").split():
        if isinstance(repository[sha], pygit2.Commit):
            yield pygit2.Oid(hex=sha)


def _suggestion(repository: pygit2.Repository, name: str, namespaces: tuple[str, ...]) -> str:
    known = [
        reference.removeprefix(namespace)
        for namespace in namespaces
        for reference in repository.references
        if reference.startswith(namespace)
    ]
    if near := get_close_matches(name, known, n=3):
        return f"did you mean {' or '.join(near)}?"
    return f"the branches are {', '.join(sorted(known)[:10])}" if known else "nothing was fetched"
