"""Who asks while the first clone goes on, or after it failed; the way to the origin is slow."""

import random
from pathlib import Path

import pytest
from buildbot.www.rest import BadJsonRpc2
from twisted.internet import reactor, task
from twisted.internet.defer import Deferred

from buildbot_bench.api.requests import SearchQuestion
from buildbot_bench.core.errors import InfraError, NotYetError
from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.requests.search_requests import SearchRequests
from buildbot_bench.plugin.requests.variants import find_variant
from buildbot_bench.plugin.rest.endpoints import NOT_YET, rpc_errors
from buildbot_bench.plugin.rest.views import mirror
from tests.gitrepo import Commit, add_commits, make_repository, numbered

ASKED = SearchQuestion(old="r1", new="r9")


@pytest.fixture
def source(tmp_path) -> Path:
    noise = random.Random(1)
    files = {f"sys/f{n}.c": noise.randbytes(3000).hex() for n in range(100)}
    make_repository(tmp_path / "freebsd-src", [Commit(files=files, svn=1), *numbered(2, 20)])
    return tmp_path / "freebsd-src"


@pytest.fixture
def farm(make_farm, source, transport, master) -> Farm:
    """A farm as it is after its very first start, with a clock that runs."""
    known = make_farm(("REPOSITORY", f"ssh://example.org{source}"), repository=Path("REPOSITORY"))
    master.reactor = reactor
    return Farm(workflow=known.workflow, master=master)


async def until(condition) -> None:
    for _ in range(600):
        if condition():
            return
        await task.deferLater(reactor, 0.05)
    raise AssertionError("not within half a minute")


async def test_who_asks_during_the_clone_is_told_how_far_it_is_and_then_answered(farm, transport):
    (transport / "hold").write_text("200000")
    look = Deferred.fromCoroutine(CommitWatch(farm).advance())
    await until(lambda: "received" in farm.mirroring.view()["text"])
    for ask in (
        SearchRequests(farm).forecast(ASKED),
        SearchRequests(farm).start(ASKED, "ann"),
        find_variant(farm, "r1", patches={}, requester="ann", trusted=True),
    ):
        with pytest.raises(NotYetError, match=r"^cloning freebsd-src: \d+ % received"):
            await ask
    view = await mirror(farm)
    assert view["state"] == "begun"
    assert view["text"].startswith("cloning freebsd-src: ")
    (transport / "hold").unlink()
    await look
    assert await mirror(farm) == {"state": "ready", "text": ""}
    assert (await SearchRequests(farm).forecast(ASKED))["commits"] == 8
    assert await farm.store.searches() == []


async def test_over_rest_that_is_an_error_of_its_own(farm, transport):
    (transport / "hold").write_text("200000")
    look = Deferred.fromCoroutine(CommitWatch(farm).advance())
    with pytest.raises(BadJsonRpc2) as refused:
        await rpc_errors(SearchRequests(farm).forecast(ASKED))
    assert refused.value.jsonrpccode == NOT_YET
    assert refused.value.message.startswith("cloning freebsd-src")
    (transport / "hold").unlink()
    await look


async def test_a_clone_that_fails_is_told_with_gits_reason_until_one_comes_further(farm, transport):
    (transport / "refusal").write_text("https://ann:hunter2@example.org: Permission denied\n")
    with pytest.raises(InfraError):
        await CommitWatch(farm).advance()
    with pytest.raises(InfraError) as told:
        await SearchRequests(farm).forecast(ASKED)
    assert not isinstance(told.value, NotYetError)
    assert "no mirror of freebsd-src yet: git fetch: https://example.org: Permission" in str(
        told.value
    )
    assert "fix `repository` in bench.yml" in told.value.hint
    view = await mirror(farm)
    assert (view["state"], "hunter2" in view["text"]) == ("trouble", False)
    (transport / "refusal").unlink()
    (transport / "hold").write_text("200000")
    look = Deferred.fromCoroutine(CommitWatch(farm).advance())
    await until(lambda: farm.mirroring.view()["state"] == "begun")
    with pytest.raises(NotYetError):
        await SearchRequests(farm).forecast(ASKED)
    (transport / "hold").unlink()
    await look
    assert (await SearchRequests(farm).forecast(ASKED))["commits"] == 8


async def test_what_is_known_is_answered_while_an_origin_is_away(farm, transport, master):
    await CommitWatch(farm).advance()
    (transport / "refusal").write_text("gone\n")
    again = Farm(workflow=farm.workflow, master=master)
    with pytest.raises(InfraError):
        await CommitWatch(again).advance()
    assert (await SearchRequests(again).forecast(ASKED))["commits"] == 8
    assert (await mirror(again))["state"] == "ready"


async def test_after_a_start_what_came_meanwhile_is_waited_for(farm, source, transport, master):
    await CommitWatch(farm).advance()
    add_commits(source, numbered(21, 22))
    (transport / "trickle").write_text("300")
    again = Farm(workflow=farm.workflow, master=master)
    look = Deferred.fromCoroutine(CommitWatch(again).advance())
    told = await SearchRequests(again).forecast(SearchQuestion(old="r1", new="r22"))
    assert told["commits"] == 21
    await look


async def test_where_no_broker_looks_the_question_itself_begins_the_clone(farm):
    asked = 0
    while True:
        try:
            told = await SearchRequests(farm).forecast(ASKED)
        except NotYetError:
            asked += 1
            assert asked < 30
        else:
            break
    assert told["commits"] == 8


async def test_two_who_look_at_once_fetch_once(farm, transport):
    (transport / "hold").write_text("200000")
    looks = [Deferred.fromCoroutine(farm.mirroring.refresh()) for _ in range(3)]
    await until(lambda: "received" in farm.mirroring.view()["text"])
    (transport / "hold").unlink()
    for look in looks:
        await look
    assert farm.mirroring.view()["state"] == "ready"
