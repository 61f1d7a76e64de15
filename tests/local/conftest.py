"""A repository whose commits have a number and a level, and a bench in it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.builds import Repository, Workshop, opened
from buildbot_bench.local.campaign import Campaign, LocalSearch, Measurer
from buildbot_bench.local.recipe import BuildRecipe, BuildStep
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git
from tests.gitrepo import Commit, make_repository

COMMITS, SLOWER_FROM = 12, 8
"""There are so many commits; the level falls by a fifth with the eighth."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    place = tmp_path / "project.git"
    make_repository(
        place,
        [
            Commit(
                files={"number": f"{n}\n", "level": "1000\n" if n < SLOWER_FROM else "800\n"},
                subject=f"Change {n}",
            )
            for n in range(1, COMMITS + 1)
        ],
    )
    return place


@pytest.fixture
def repository(checkout: Path) -> Iterator[Repository]:
    with opened(Git.around(checkout), most_bytes=1 << 30) as found:
        yield found


@pytest.fixture
def ask(repository: Repository) -> Callable[..., LocalSearch]:
    """The whole history as a search, by a build command and what else a test says."""

    def search(
        build: str = "",
        *,
        skip: tuple[str, ...] = (),
        again: tuple[str, ...] = (),
        ahead: int = 0,
        upto: int = COMMITS,
        fix: str | None = None,
    ) -> LocalSearch:
        revisions = Revisions(git=repository.git)
        between = revisions.between("n1", f"n{upto}")
        steps = (BuildStep(script=build),) if build else ()
        return LocalSearch(
            campaign=Campaign(
                recipe=BuildRecipe(steps=steps, fix=fix),
                workload=CommandWorkload(run="read", value="last-number", unit="units"),
                name="read",
            ),
            between=between,
            terms=SearchPolicy(error=0.01, min_effect=0.02),
            skipped=revisions.named_in(between, skip),
            again=revisions.named_in(between, again),
            ahead=ahead,
            commands=("bench-bisect --local n1 main",),
        )

    return search


@pytest.fixture
def bench_for(repository: Repository) -> Callable[[LocalSearch, Measurer], Bench]:
    def bench(search: LocalSearch, measurer: Measurer, **how: Callable[[], float]) -> Bench:
        git, room, store = repository.git, repository.room, repository.store
        workshop = Workshop(git, room, store, search.campaign.recipe)
        workshop.clear()
        return Bench(search.campaign, store, workshop, measurer, ahead=search.ahead, **how)

    return bench
