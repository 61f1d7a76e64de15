"""A farm of many testbeds and workloads, 5 branches and 2 repositories: bench.yml and git.

At its largest it has 50 testbeds and 20 workloads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.freebsd_sized import make_freebsd_sized

TESTBEDS = tuple(f"bed-{number:02}" for number in range(50))
WORKLOADS = tuple(f"load-{number:02}" for number in range(20))
STABLE = ("stable/12", "stable/13", "stable/14")
FORK = "fork:main"


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """`commits` of all branches together; a probe for each of them on each series.

    So many `searches` are open, and `ended` ended. There are `groups` of five testbeds, which
    measure two workloads each: ten series.
    """

    commits: int
    searches: int
    ended: int
    groups: int = 10

    @property
    def testbeds(self) -> Sequence[str]:
        """Their names."""
        return TESTBEDS[: 5 * self.groups]

    @property
    def series(self) -> list[tuple[str, str]]:
        """Each testbed with its two workloads."""
        groups = map(_group, range(self.groups))
        return [one for testbeds, workloads in groups for one in product(testbeds, workloads)]

    @property
    def of_main(self) -> int:
        """Of six commits five are main's."""
        return self.commits * 5 // 6

    @property
    def of_fork(self) -> int:
        """What the other repository has: the hashes of main's first ones."""
        return self.commits // 24


def _group(number: int) -> tuple[Sequence[str], Sequence[str]]:
    """Five testbeds and the two workloads that they measure."""
    return TESTBEDS[5 * number : 5 * number + 5], WORKLOADS[2 * number : 2 * number + 2]


def workflow(home: Path, size: Size) -> str:
    """The bench.yml of such a farm, whose repositories lie in a directory."""
    testbeds = "\n".join(
        f"  {name}: {{worker: {name}, boot: 60s, run: 30s}}" for name in size.testbeds
    )
    groups = [_group(number) for number in range(size.groups)]
    jobs = "\n".join(
        f"  bench-{number}:\n"
        "    needs: kernel\n"
        f"    runs-on: [{', '.join(testbeds_there)}]\n"
        f"    strategy: {{matrix: {{workload: [{', '.join(workloads)}]}}}}\n"
        "    iterations: 5"
        for number, (testbeds_there, workloads) in enumerate(groups)
    )
    return (
        f"name: Load\nrepositories:\n  src: {{url: {home}/src}}\n"
        f"  fork: {{url: {home}/fork, branches: [main]}}\n\n"
        "on: {push: {branches: [main, 'stable/*']}, workflow_dispatch: }\n\n"
        f"testbeds:\n{testbeds}\n\njobs:\n"
        "  kernel:\n    runs-on: builder\n    steps:\n      - uses: checkout\n"
        "      - run: make kernel\n      - uses: upload-artefact\n        with: {path: kernel}\n"
        f"{jobs}\n"
    )


def make_repositories(home: Path, size: Size) -> None:
    """One with main and the stable branches, in FreeBSD's manner, and one that has its first."""
    make_freebsd_sized(home / "src", size.of_main, STABLE)
    make_freebsd_sized(home / "fork", size.of_fork, STABLE[:1])
