"""Which repository may be bench.yml's first one: the one that was, by its name or its URL."""

from types import SimpleNamespace

import pytest
from buildbot.config import ConfigErrors

from buildbot_bench.plugin.farm.histories import require_same_first
from tests.gitrepo import make_repository, numbered


class State:
    """What Buildbot keeps for an object, in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, object] = {}

    async def getObjectId(self, name: str, class_name: str) -> int:  # noqa: N802 - Buildbot's name
        assert (name, class_name) == ("bench", "FirstRepository")
        return 3

    async def getState(self, _id: int, name: str, default: object) -> object:  # noqa: N802 - as above
        return self.kept.get(name, default)

    async def setState(self, _id: int, name: str, value: object) -> None:  # noqa: N802 - as above
        self.kept[name] = value


@pytest.fixture
def master(master):
    master.db = SimpleNamespace(pool=master.db.pool, state=State())
    return master


def several(**urls: str) -> tuple[str, str]:
    named = ", ".join(f"{name}: {{url: {url}}}" for name, url in urls.items())
    return f"repositories: {{{named}}}"


@pytest.fixture
def goes(make_farm, master, published):
    """Whether a farm goes on with these repositories."""
    source = published[0]

    async def go(written: str) -> str:
        farm = make_farm((f"repository: {source}", written))
        try:
            await require_same_first(master, farm.store, farm.workflow)
        except ConfigErrors as refused:
            return refused.errors[0]
        return ""

    return go


async def test_one_becomes_the_first_of_several_and_is_alone_again(goes, published):
    here = str(published[0])
    for written in (
        f"repository: {here}",
        several(src=here, fork="/fork"),
        several(source=here, fork="/fork"),
        several(source="/moved", fork="/fork"),
        "repository: /moved",
        "repository: /moved/again",
    ):
        assert await goes(written) == "", written


async def test_another_one_is_not_put_in_its_place(goes, published):
    here = str(published[0])
    assert await goes(several(src=here, fork="/fork")) == ""
    for written in (several(fork="/fork"), several(fork="/fork", src=here), "repository: /fork"):
        problem = await goes(written)
        assert "the first one was src" in problem, written
        assert "take its job out of `needs`" in problem
    assert await goes(several(src="/moved", fork="/fork")) == ""


async def test_one_that_the_tables_know_by_its_name_is_not_the_first(goes, make_farm, tmp_path):
    make_repository(tmp_path / "fork", numbered(1, 1))
    farm = make_farm()
    await farm.store.keep_branch("fork:main", trunk=None, fork_position=0)
    assert "have fork as one that is not the first" in await goes(several(fork="/fork"))
    assert await goes(several(src="/src", fork="/fork")) == ""
