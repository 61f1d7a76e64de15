"""The commits that r311849 and n245062 mean on some branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import ABBREVIATION_LENGTH
from buildbot_bench.history.chain import Chain
from buildbot_bench.history.svn import NOTES, SvnNumbers


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
