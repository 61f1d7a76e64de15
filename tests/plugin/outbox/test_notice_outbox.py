"""A culprit is told where its commit and its review live: once, however often the sites fail."""

import re
from collections.abc import Iterator

import pytest
from twisted.internet import reactor, task

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.search import Step
from buildbot_bench.plugin.farm.farm import RETRY_FIRST_S, RETRY_MOST_S
from buildbot_bench.plugin.outbox.notice_outbox import MOST_DENIALS, NEWS_S, NoticeOutbox
from tests.fakes.other_package import import_from, install
from tests.fakes.sites import TOKEN, TOKENS, Sites, sites
from tests.gitrepo import Commit, make_repository

DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
RISE = Step(old=5, new=6, effect=0.2, low=0.19, high=0.21, probability=0.999)
WIDE = Step(old=5, new=8, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
NOTIFY = """
notify:
  github: {{repository: owner/src, token-secret: github.token, api: {url}}}
  phabricator: {{site: {url}, token-secret: phabricator.token}}
"""


@pytest.fixture
def site() -> Iterator[Sites]:
    with sites() as told:
        yield told


@pytest.fixture
def repository(tmp_path):
    """r1 to r11; r7 was reviewed."""
    subjects = {7: "Change 7\n\nDifferential Revision:\thttps://reviews.freebsd.org/D8299\n"}
    commits = [
        Commit(files={"sys/a.c": f"{n}\n"}, subject=subjects.get(n, f"Change {n}"), svn=n)
        for n in range(1, 12)
    ]
    return tmp_path / "reviewed", make_repository(tmp_path / "reviewed", commits)


@pytest.fixture
def farm(make_farm, site, repository, master):
    master.secrets |= {"github.token": TOKEN, "phabricator.token": TOKEN}
    path, _ = repository
    text = NOTIFY.format(url=site.url)
    farm = make_farm(("regression:", f"{text}\nregression:"), repository=path)
    farm.history.fetch()
    return farm


@pytest.fixture
def past(farm, repository):
    from tests.fakes.past import Past

    return Past(farm, dict(enumerate(repository[1], start=1)))


@pytest.fixture
def notices(farm, master) -> NoticeOutbox:
    return NoticeOutbox(farm)


async def found(past, step: Step = DROP) -> int:
    return (await past.found(step, (6, 7, 9))).id


async def told(notices: NoticeOutbox, farm, search_id: int):
    """Let the notices have a turn; those of the search."""
    await notices.advance()
    while notices.is_delivering:
        await task.deferLater(reactor, 0.01)
    return await farm.store.notices_of_search(search_id)


async def test_commit_gets_status_and_comment_and_the_review_a_comment(notices, past, farm, site):
    number = await found(past)
    rows = await told(notices, farm, number)
    assert {(row.kind, row.target, row.state) for row in rows} == {
        ("github-status", past.shas[7], "sent"),
        ("github-comment", past.shas[7], "sent"),
        ("phabricator-comment", "D8299", "sent"),
    }
    ((sha, status),) = site.statuses
    assert (sha, status["state"]) == (past.shas[7], "failure")
    assert "forwarding -20" in status["description"]
    assert status["target_url"] == f"http://farm.example.org/#/bench/searches/{number}"
    assert "**Checks**" in site.comments[past.shas[7]][0]
    assert "**Checks**" in site.comments["D8299"][0]


async def test_each_is_told_once_however_many_cycles_there_are(notices, past, farm, site, master):
    number = await found(past)
    await told(notices, farm, number)
    master.reactor.advance(RETRY_FIRST_S)
    await told(NoticeOutbox(farm), farm, number)
    assert len(site.statuses) == 1
    assert [len(said) for said in site.comments.values()] == [1, 1]


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_a_site_that_fails_is_told_later(notices, past, site, master, status):
    farm, number = past.farm, await found(past)
    site.broken = status
    rows = await told(notices, farm, number)
    assert {row.state for row in rows} == {"new"}
    assert all(str(status) in row.last_error for row in rows)
    assert not any(TOKEN in row.last_error for row in rows)
    site.broken = None
    rows = await told(notices, farm, number)
    assert {row.state for row in rows} == {"new"}  # not before its time
    master.reactor.advance(RETRY_FIRST_S)
    rows = await told(notices, farm, number)
    assert {row.state for row in rows} == {"sent"}


async def tried_to_the_last(notices, farm, number: int, master):
    for _ in range(MOST_DENIALS + 1):
        rows = await told(notices, farm, number)
        master.reactor.advance(RETRY_MOST_S)
    return rows


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_site_that_lets_nobody_in_is_given_up_until_the_master_starts_again(
    notices, past, site, master, status
):
    farm, number = past.farm, await found(past)
    site.broken = status
    rows = await tried_to_the_last(notices, farm, number, master)
    assert {(row.state, row.attempts) for row in rows} == {("given-up", MOST_DENIALS)}
    assert all(f"HTTP {status}" in row.last_error for row in rows)
    assert {row.state for row in await told(notices, farm, number)} == {"given-up"}
    started = NoticeOutbox(farm)
    assert {row.state for row in await told(started, farm, number)} == {"new"}
    site.broken = None
    master.reactor.advance(RETRY_FIRST_S)
    assert {row.state for row in await told(started, farm, number)} == {"sent"}


async def test_a_site_that_was_down_is_not_given_up_for_it_when_it_denies_once(
    notices, past, site, master
):
    farm, number = past.farm, await found(past)
    for status in (*[503] * (MOST_DENIALS - 1), 403, 503, *[403] * (MOST_DENIALS - 2)):
        site.broken = status
        rows = await told(notices, farm, number)
        assert {row.state for row in rows} == {"new"}
        master.reactor.advance(RETRY_MOST_S)
    site.broken = 403
    rows = await told(notices, farm, number)
    assert {(row.state, row.denials) for row in rows} == {("given-up", MOST_DENIALS)}


@pytest.mark.parametrize("headers", [{"Retry-After": "60"}, {"X-RateLimit-Remaining": "0"}])
async def test_a_site_that_was_asked_too_often_is_never_given_up(
    notices, past, site, master, headers
):
    farm, number = past.farm, await found(past)
    site.broken, site.headers = 403, headers
    rows = await tried_to_the_last(notices, farm, number, master)
    assert {row.state for row in rows} == {"new"}


async def test_a_review_site_that_does_not_know_the_token_is_given_up(
    notices, past, farm, site, master
):
    number = await found(past)
    master.secrets["phabricator.token"] = "of another site"
    rows = await tried_to_the_last(notices, farm, number, master)
    by_kind = {row.kind: row for row in rows}
    assert by_kind["phabricator-comment"].state == "given-up"
    assert "ERR-INVALID-AUTH" in by_kind["phabricator-comment"].last_error
    assert by_kind["github-comment"].state == "sent"


async def test_it_is_told_once_the_captures_are_there_to_be_linked_to(
    make_farm, site, repository, past, master
):
    text = NOTIFY.format(url=site.url)
    sampled = ("apu: {", "apu: {profile: 20m, ")
    farm = make_farm(("regression:", f"{text}\nregression:"), sampled, repository=repository[0])
    notices, number = NoticeOutbox(farm), await found(past)
    search = await farm.store.search(number)
    await farm.store.change(search, ended_at=farm.now())
    image = (await farm.store.all_images_between(7, 7, ""))[0]
    capture = await farm.store.ensure_profile(
        key="search:1:new",
        token="t",
        image_id=image.id,
        testbed="apu",
        workload="forwarding",
        search_id=number,
        now=farm.now(),
    )
    assert await told(notices, farm, number) == []
    await farm.store.change(capture, state="failed", failure="no", ended_at=farm.now())
    assert {row.state for row in await told(notices, farm, number)} == {"sent"}


async def test_a_comment_whose_answer_was_lost_is_not_made_twice(notices, past, farm, site, master):
    number = await found(past)
    site.deaf = True
    rows = await told(notices, farm, number)
    assert {row.state for row in rows} == {"new"}
    site.deaf = False
    master.reactor.advance(RETRY_FIRST_S)
    rows = await told(notices, farm, number)
    assert {row.state for row in rows} == {"sent"}
    assert [len(said) for said in site.comments.values()] == [1, 1]


@pytest.mark.parametrize("step", [RISE, WIDE])
async def test_improvements_and_suspects_are_told_to_nobody(notices, past, farm, site, step):
    number = await found(past, step)
    for _ in range(2):
        rows = await told(notices, farm, number)
    assert [row.state for row in rows] == ["withheld"]
    assert not site.statuses
    assert not site.comments


async def test_a_token_that_is_missing_is_waited_for(notices, past, farm, master):
    number = await found(past)
    token = master.secrets.pop("github.token")
    by_kind = {row.kind: row for row in await told(notices, farm, number)}
    assert by_kind["phabricator-comment"].state == "sent"
    assert "no secret 'github.token'" in by_kind["github-status"].last_error
    master.secrets["github.token"] = token
    master.reactor.advance(RETRY_FIRST_S)
    assert {row.state for row in await told(notices, farm, number)} == {"sent"}


async def test_what_the_site_does_not_know_is_given_up(notices, past, farm, site):
    number = await found(past)
    site.broken = 422
    rows = await told(notices, farm, number)
    assert {row.state for row in rows} == {"refused"}


async def test_a_site_that_is_named_today_hears_nothing_of_last_month(
    notices, past, farm, site, master
):
    number = await found(past)
    master.reactor.advance(NEWS_S + 1)
    assert await told(notices, farm, number) == []


async def test_a_farm_without_sites_does_nothing(past, make_farm, master):
    quiet = make_farm()
    assert await told(NoticeOutbox(quiet), quiet, 1) == []


CHAT = """\
from pathlib import Path

from buildbot_bench.plugin.outbox.sites import WantedNotice
from buildbot_bench.workflow.fields import Model, Name


class Chat(Model):
    room: str
    token_secret: Name


class ChatSite:
    SETTINGS = Chat

    def __init__(self, settings):
        self._settings = settings
        self.token_secret = settings.token_secret

    def notices(self, culprit):
        return [WantedNotice(kind="chat-line", target=self._settings.room, body=culprit.line)]

    async def say(self, notice, *, token, page, mark):
        Path(notice.target).write_text(f"{notice.body} {page} {mark} {token}")
"""


@pytest.fixture
def chat(tmp_path, monkeypatch):
    """A site of another package."""
    points = "[buildbot_bench.sites]\nchat = extra.chat:ChatSite\n"
    import_from(install(tmp_path / "site", {"chat": CHAT}, points), monkeypatch)
    return tmp_path / "room"


async def test_a_site_of_another_package_is_told_as_bench_yml_says(
    chat, make_farm, repository, master, past
):
    master.secrets["chat.token"] = TOKEN
    notify = f"notify:\n  chat: {{room: {chat}, token-secret: chat.token}}\n"
    farm = make_farm(("regression:", f"{notify}\nregression:"), repository=repository[0])
    past.farm = farm
    number = await found(past)
    (row,) = await told(NoticeOutbox(farm), farm, number)
    assert (row.kind, row.target, row.state) == ("chat-line", str(chat), "sent")
    page = f"http://farm.example.org/#/bench/searches/{number}"
    assert chat.read_text() == f"{row.body} {page} bench:search:{number} {TOKEN}"


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("chat: {token-secret: t}", "notify.chat.room: Field required"),
        ("chatt: {room: a, token-secret: t}", "notify.chatt: unknown key; did you mean 'chat'?"),
        ("chat: 7", "notify.chat: Input should be a valid dictionary"),
    ],
)
def test_what_is_wrong_with_it_is_told_by_its_line(chat, make_farm, said, complaint):
    with pytest.raises(UsageError) as refusal:
        make_farm(("regression:", f"notify:\n  {said}\n\nregression:"))
    assert complaint in str(refusal.value)


OF_FORK = "repositories: {fork: {repository: ann/fork, token-secret: fork.token}}"


@pytest.fixture
def forked(make_farm, site, repository, master):
    """Makes a farm of two repositories with the same commits; what is said of the second one."""

    def make(said: str):
        from tests.fakes.past import Past

        master.secrets |= {"github.token": TOKEN, "fork.token": TOKENS["ann/fork"]}
        master.secrets |= {"phabricator.token": TOKEN}
        path, shas = repository
        text = NOTIFY.format(url=site.url).replace("owner/src,", f"owner/src, {said}")
        both = f"repositories: {{src: {{url: {path}}}, fork: {{url: {path}}}}}"
        farm = make_farm(
            ("regression:", f"{text}\nregression:"),
            (f"repository: {path}", both),
            repository=path,
        )
        farm.history.fetch()
        return farm, Past(farm, dict(enumerate(shas, start=1)), branch="fork:main")

    return make


async def test_a_commit_is_told_of_where_it_is_by_its_own_token(forked, site):
    farm, past = forked(f"{OF_FORK},")
    rows = await told(NoticeOutbox(farm), farm, await found(past))
    assert {row.state for row in rows} == {"sent"}
    assert {repository for repository, _ in site.heard} == {"ann/fork"}
    assert [sha for sha, _ in site.statuses] == [past.shas[7]]


async def test_of_a_repository_that_is_not_named_github_hears_nothing(forked, site):
    farm, past = forked("")
    rows = await told(NoticeOutbox(farm), farm, await found(past))
    assert {row.kind for row in rows} == {"phabricator-comment"}
    assert site.heard == []


async def test_a_token_of_another_repository_does_not_let_in_and_is_not_told(forked, site):
    farm, past = forked(OF_FORK.replace(", token-secret: fork.token", "") + ",")
    rows = await told(NoticeOutbox(farm), farm, await found(past))
    kept = [row for row in rows if row.kind.startswith("github")]
    assert {row.state for row in kept} == {"new"}
    assert all("HTTP 401" in row.last_error for row in kept)
    assert not any(TOKEN in row.last_error for row in kept)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("src", "is the first repository: notify.github.repository is its own"),
        ("forkk", "is not in 'repositories'; did you mean 'fork'?"),
    ],
)
def test_a_repository_that_is_told_of_is_watched(forked, name, problem):
    with pytest.raises(UsageError, match=re.escape(problem)):
        forked(f"{OF_FORK.replace('fork:', f'{name}:')},")
