"""Which commit of some branches r311849 and n245062 mean; it reads neither git nor a file."""

from __future__ import annotations

from collections.abc import Mapping

from buildbot_bench.core.errors import UsageError
from buildbot_bench.history.chain import Chain
from buildbot_bench.history.svn import NOTES, SvnNumbers


def by_svn_number(numbers: SvnNumbers, chains: Mapping[str, Chain], number: int) -> str:
    """The commit of the first branch that has the number.

    Raises:
        UsageError: When none has it; with its neighbours.
    """
    for chain in chains.values():
        for sha in numbers.commits(number):
            if chain.position(sha) is not None:
                return sha
    first = next(iter(chains.values()))
    near = numbers.nearest(number, lambda sha: first.position(sha) is not None)
    raise UsageError(
        f"r{number} is no commit of {' or '.join(chains)}",
        hint=f"the nearest are {' and '.join(f'r{n}' for n in near)}"
        if near
        else f"the repository has no Subversion numbers in {NOTES}",
    )


def by_count(chain: Chain, branch: str, number: int) -> str:
    """The commit at a position of a branch.

    Raises:
        UsageError: When it is not that long.
    """
    if not 1 <= number <= len(chain):
        raise UsageError(f"there is no n{number}", hint=f"{branch} has n1 to n{len(chain)}")
    return chain.sha(number)
