"""The commit that a branch, a tag, a hash, r311849 or n245062 names."""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, SHA_LENGTH
from buildbot_bench.history.chain import Chain
from buildbot_bench.history.git import run_git
from buildbot_bench.history.objects import is_commit, named_by, peeled
from buildbot_bench.history.svn import NOTES, SvnNumbers

_ABBREVIATION = re.compile(r"[0-9a-f]{4,40}", re.IGNORECASE)
_NAMESPACES = ("refs/heads/", "refs/tags/")
# v1.9.4-12-g7b0fa0a3: a tag, how many commits since, and the hash, which alone counts.
_DESCRIBED = re.compile(r".+-[0-9]+-g([0-9a-f]{4,40})")
_SPELT_OUT = {
    "refs/heads/": "refs/heads/",
    "heads/": "refs/heads/",
    "refs/tags/": "refs/tags/",
    "tags/": "refs/tags/",
    "refs/remotes/origin/": "refs/heads/",
    "origin/": "refs/heads/",
}
_LOOKUP_TIMEOUT_S = 60.0


def branch_tip(repository: pygit2.Repository, branch: str) -> pygit2.Oid:
    """The newest commit of a branch."""
    if oid := named_by(repository, f"refs/heads/{branch}"):
        return oid
    raise UsageError(
        f"there is no branch {quoted(branch)}",
        hint=_suggestion(repository, branch, _NAMESPACES[:1]),
    )


def branches(repository: pygit2.Repository) -> list[str]:
    """The names of all branches; what is no UTF-8 in one is replaced."""
    space = _NAMESPACES[0].encode()
    return [
        raw.removeprefix(space).decode(errors="replace")
        for raw in repository.raw_listall_references()
        if raw.startswith(space)
    ]


def is_reference(repository: pygit2.Repository, name: str) -> bool:
    """Whether there is a branch or a tag of that name."""
    return any(named_by(repository, space + name) is not None for space in _NAMESPACES)


def lookup(repository: pygit2.Repository, name: str) -> pygit2.Oid:
    """The commit of a full hash, a branch, a tag or an abbreviated hash, in that order.

    Then come the names that other clones have for them: origin/main, refs/tags/v1, and what
    git-describe(1) says.
    """
    if len(name) == SHA_LENGTH and _ABBREVIATION.fullmatch(name):
        whole = pygit2.Oid(hex=name.lower())
        if oid := peeled(repository, whole):
            return oid
        if whole in repository.odb:
            raise UsageError(f"{name} is no commit")
    for namespace in _NAMESPACES:
        if oid := named_by(repository, namespace + name):
            return oid
    for prefix, namespace in _SPELT_OUT.items():
        if name.startswith(prefix) and (
            oid := named_by(repository, namespace + name.removeprefix(prefix))
        ):
            return oid
    described = _DESCRIBED.fullmatch(name)
    candidates = list(_abbreviated(repository, described[1] if described else name))
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        shas = ", ".join(str(oid)[:ABBREVIATION_LENGTH] for oid in candidates)
        raise UsageError(f"{name} is short for {len(candidates)} commits", hint=f"one of {shas}?")
    raise UsageError(
        f"there is no commit, tag or branch {quoted(name)}",
        hint=_suggestion(repository, name, _NAMESPACES),
    )


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
        oid = pygit2.Oid(hex=sha)
        if is_commit(repository, oid):
            yield oid


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


def by_svn_number(
    numbers: SvnNumbers,
    chains: Mapping[str, Chain],
    number: int,
    elsewhere: Callable[[str], str | None] = lambda _: None,
    on_warning: Callable[[str], None] = lambda _: None,
) -> str:
    """The commit with the number that one of the branches has; what they share is one commit.

    Of several commits of one branch it is the oldest: a copy of a note comes later. `on_warning`
    gets a line that names them. `elsewhere` names a branch besides these that has a commit.
    """
    known = list(numbers.commits(number))
    claims = {branch: _of(chain, known) for branch, chain in chains.items()}
    found = {branch: shas[0] for branch, shas in claims.items() if shas}
    for line in _claimed_twice(number, claims):
        on_warning(line)
    if found:
        return _agreed(f"r{number}", found)
    first = next(iter(chains.values()))
    near = numbers.nearest(number, lambda sha: first.position(sha) is not None)
    hints = [f"the nearest are {' and '.join(f'r{n}' for n in near)}"] if near else []
    for sha in known[:1]:
        if other := elsewhere(sha):
            short = sha[:ABBREVIATION_LENGTH]
            hints.append(f"{other} has it, which on.push.branches does not take: name it {short}")
    raise UsageError(
        f"r{number} is no commit of {' or '.join(chains)}",
        hint="; ".join(hints) or f"the repository has no Subversion numbers in {NOTES}",
    )


def doubled(numbers: SvnNumbers, chains: Mapping[str, Chain]) -> Iterator[str]:
    """A line for each number that several commits of one branch claim, the smallest first."""
    for number in numbers.doubled():
        known = list(numbers.commits(number))
        claims = {branch: _of(chain, known) for branch, chain in chains.items()}
        yield from _claimed_twice(number, claims)


def _claimed_twice(number: int, claims: Mapping[str, list[str]]) -> Iterator[str]:
    for branch, shas in claims.items():
        if len(shas) > 1:
            named = [sha[:ABBREVIATION_LENGTH] for sha in shas]
            yield (
                f"r{number} is claimed by {len(shas)} commits of {branch}, {', '.join(named[:3])}: "
                f"it means the oldest, {named[0]}; correct the notes in {NOTES}"
            )


def by_count(chains: Mapping[str, Chain], number: int) -> str:
    """The commit at a position of the branches that are long enough; what they share is one."""
    found = {
        branch: chain.sha(number) for branch, chain in chains.items() if 1 <= number <= len(chain)
    }
    if found:
        return _agreed(f"n{number}", found)
    lengths = ", ".join(f"{branch} has n1 to n{len(chain)}" for branch, chain in chains.items())
    raise UsageError(f"there is no n{number}", hint=lengths)


def _of(chain: Chain, shas: list[str]) -> list[str]:
    """Those of some commits that a chain has, oldest first."""
    places = {sha: chain.position(sha) for sha in shas}
    return sorted((sha for sha in shas if places[sha]), key=lambda sha: places[sha] or 0)


def _agreed(name: str, found: Mapping[str, str]) -> str:
    """The one commit that all branches mean by a name."""
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    first = {sha: branch for branch, sha in reversed(list(found.items()))}
    told = ", ".join(
        f"{branch} ({sha[:ABBREVIATION_LENGTH]})"
        for branch, sha in found.items()
        if first[sha] == branch
    )
    names = " or ".join(f"{branch}-{name}" for branch, sha in found.items() if first[sha] == branch)
    raise UsageError(f"{name} is another commit on each of {told}", hint=f"say which: {names}")
