"""Who may log in, whoever has a file with a password, and how roles come to our resources."""

import base64
import inspect
import json
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from buildbot.data import connector
from buildbot.plugins import util
from buildbot.util.service import MasterService
from buildbot.www.authz import Forbidden
from buildbot.www.authz.roles import RolesFromUsername
from buildbot.www.rest import BadJsonRpc2
from twisted.cred.error import UnauthorizedLogin
from twisted.internet.task import Clock
from twisted.python import log
from twisted.python.log import textFromEventDict
from twisted.web.test.requesthelper import DummyRequest

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.rest import searches, views
from buildbot_bench.plugin.rest.access import (
    APPROVE,
    MOST_PAUSE_S,
    MOST_WAITING,
    BenchAuth,
    BenchAuthz,
    may,
    require,
)
from buildbot_bench.plugin.rest.endpoints import asked_for
from buildbot_bench.plugin.service import register_resources
from tests.readme import blocks


@pytest.fixture
def auth(tmp_path) -> BenchAuth:
    (tmp_path / "ann.login").write_text("sesame\n")
    (tmp_path / "empty.login").write_text("\n")
    (tmp_path / "lab.pass").write_text("worker")
    return BenchAuth(tmp_path)


def test_the_password_in_the_file_lets_in(auth):
    assert auth.check_credentials(b"ann", b"sesame")


@pytest.mark.parametrize("password", [b"", b"Sesame", b"sesame\n", b"sesame ", b"sesam"])
def test_any_other_does_not(auth, password):
    assert not auth.check_credentials(b"ann", password)


def test_who_has_no_file_is_not_let_in(auth):
    assert not auth.check_credentials(b"bob", b"")


@pytest.mark.parametrize("name", ["getLoginResource", "getLogoutResource"])
def test_a_request_before_the_master_has_read_its_configuration_is_to_come_again(auth, name):
    request = DummyRequest([b"auth"])
    said = getattr(auth, name)().render(request)
    assert b"Try again in a second" in said
    assert request.responseCode == 503
    assert request.responseHeaders.getRawHeaders("refresh") == ["1"]


def test_an_empty_file_lets_nobody_in(auth):
    assert not auth.check_credentials(b"empty", b"")


def test_a_workers_password_is_no_login(auth):
    assert not auth.check_credentials(b"lab", b"worker")
    assert not auth.check_credentials(b"lab.pass", b"worker")


@pytest.mark.parametrize(
    "user", [b"../ann", b"/etc/passwd", b"", b".", b"ann\0", b"ann\n", b"\xff\xfe", b"a" * 51]
)
def test_a_name_that_is_no_name_reads_no_file(auth, tmp_path, user):
    (tmp_path / "elsewhere").mkdir()
    assert not BenchAuth(tmp_path / "elsewhere").check_credentials(user, b"sesame")
    assert not auth.check_credentials(user, b"sesame")


def test_a_password_that_is_changed_holds_at_once(auth, tmp_path):
    (tmp_path / "ann.login").write_text("new")
    assert not auth.check_credentials(b"ann", b"sesame")
    assert auth.check_credentials(b"ann", b"new")


class TestRoles:
    """What our resources learn of whoever asks."""

    def asked(self, user: str, params: dict) -> dict:
        authz = BenchAuthz(
            roleMatchers=[RolesFromUsername(roles=["approve", "bench"], usernames=["ann"])],
            allowRules=[],
        )
        authz.assertUserAllowed(("bench", "comparisons"), "start", params, {"username": user})
        return params

    def test_a_role_is_told(self):
        assert may(self.asked("ann", {}), APPROVE)
        require(self.asked("ann", {}), APPROVE)

    def test_a_role_that_is_lacking_is_forbidden(self):
        with pytest.raises(Forbidden, match="you need to have role 'approve'"):
            require(self.asked("bob", {}), APPROVE)

    @pytest.mark.parametrize("name", ["roles", "ROLES", "_Key.ROLES", "Key.ROLES"])
    def test_nobody_gives_a_role_to_himself(self, name):
        sent = json.loads(json.dumps({name: ["approve"]}))
        assert not may(self.asked("bob", sent), APPROVE)

    def test_a_high_priority_is_for_those_who_control(self):
        def priority(user, **said):
            return asked_for(ComparisonQuestion, self.asked(user, said)).priority

        assert priority("bob") == "normal"
        assert priority("bob", priority="low") == "low"
        with pytest.raises(Forbidden, match="you need to have role 'bench'"):
            priority("bob", priority="high")
        assert priority("ann", priority="high") == "high"

    @pytest.mark.parametrize("value", ["urgent", "", 3, ["high"], {"high": 1}])
    def test_another_priority_is_refused(self, value):
        with pytest.raises(UsageError, match="must be one of low, normal, high, not"):
            asked_for(ComparisonQuestion, self.asked("ann", {"priority": value}))

    def test_another_authorisation_has_decided_itself(self):
        assert may({"owner": "bob"}, APPROVE)

    def test_nothing_is_added_to_what_buildbots_own_resources_get(self):
        authz, params = BenchAuthz(), {"builderid": 1}
        authz.assertUserAllowed(("builders", "1"), "force", params, {"username": "ann"})
        assert params == {"builderid": 1}


async def readmes_example() -> BenchAuthz:
    """The authorisation that docs/how-to/farm.md shows, on a master with our resources."""
    (example,) = blocks("python", "docs/how-to/farm.md")
    told: dict = {"util": util}
    exec(example, told)
    resources = connector.DataConnector()
    await resources.setServiceParent(MasterService())
    register_resources(SimpleNamespace(data=resources))
    told["authz"].setMaster(SimpleNamespace(data=resources))
    return told["authz"]


# What somebody may do to what ann asked for, by the roles of the readers' example: ann has `bench`
# and `approve`, bob `bench`, carol `try`, dave none. R: the farm refuses it for what it would do.
TABLE = {
    ("bench/searches", "get"): "ann bob carol dave",
    ("bench/searches", "start"): "ann bob",
    ("bench/searches", "check"): "ann bob",
    ("bench/searches", "forecast"): "ann bob",
    ("bench/searches/1", "cancel"): "ann bob",
    ("bench/searches/1", "mark"): "ann bob",
    ("bench/searches/1", "measure"): "ann bob",
    ("bench/judgements/1", "mark"): "ann bob",
    ("bench/incidents/1", "mark"): "ann bob",
    ("bench/testbeds/apu2", "release"): "ann bob",
    ("bench/comparisons", "start"): "ann bob carol",
    ("bench/comparisons/1", "extend"): "ann bob carol",
    ("bench/comparisons/1", "cancel"): "ann bob",
    ("bench/comparisons/1", "approve"): "ann bob",  # bob is refused by the resource itself
    ("bench/comparisons/1", "reject"): "ann bob",
    ("builders/1", "force"): "ann bob",
    ("buildrequests/1", "cancel"): "ann bob",
    ("builds/1", "stop"): "ann bob",
    ("builds/1", "rebuild"): "ann bob",
    ("workers/1", "stop"): "ann bob",
}
USERS = ("ann", "bob", "carol", "dave")


@pytest.mark.parametrize(("path", "action"), TABLE)
async def test_who_may_do_what_by_the_readmes_example(path, action):
    authz, allowed = await readmes_example(), []
    for user in USERS:
        try:
            await authz.assertUserAllowed(tuple(path.split("/")), action, {}, {"username": user})
        except Forbidden:
            continue
        allowed.append(user)
    assert " ".join(allowed) == TABLE[path, action]


async def test_no_action_of_a_resource_of_ours_is_missing_in_the_table():
    for resources in (searches, views):
        source = inspect.getsource(resources)
        acted = re.findall(
            r'case (".*?"):|action != "(\w+)"|^ +"(\w+)": lambda', source, re.MULTILINE
        )
        actions = {word for some in acted for word in re.findall(r"\w+", " ".join(some))}
        assert actions <= {action for _, action in TABLE}


PATCH = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+{user}\n"
MORE, WITH_PATCH = {"more": 1}, {"variants": ["r4+file:p"]}
START = {"variants": ["r4", "r6"]}


@pytest.mark.parametrize(
    ("asked", "state", "answers"),
    [
        # ann's own, bob's, carol's and dave's request: y is done, R refused for what it would do.
        (("start", START), "", "y y y 403"),
        (("start", START | {"priority": "high"}), "", "y y 403 403"),
        (("extend", MORE), "done", "y y y 403"),
        (("extend", MORE), "running", "y R R 403"),
        (("extend", MORE), "own", "y y y 403"),
        (("extend", MORE), "cancelled", "y y y 403"),
        (("extend", WITH_PATCH), "done", "y R R 403"),
        (("extend", WITH_PATCH), "own", "y y y 403"),
        (("cancel", {}), "running", "y y 403 403"),
        (("cancel", {}), "own", "y y 403 403"),
        (("approve", {}), "awaiting approval", "y 403 403 403"),
        (("reject", {}), "awaiting approval", "y 403 403 403"),
    ],
)
async def test_who_may_do_what_to_whose_comparison(farm, master, asked, state, answers):
    (action, args), authz = asked, await readmes_example()
    store, answered = farm.store, []
    for user in USERS:
        path = ("bench", "comparisons")
        if action != "start":
            question = asked_for(ComparisonQuestion, START | {"owner": user})
            owner = user if state == "own" else "ann"
            made = await ComparisonRequests(farm).start(question, owner)
            row = await store.ab_test(made["comparisonid"])
            ended = farm.now() if state in {"done", "cancelled"} else None
            was = "running" if state == "own" else state
            await store.change_ab_test(row, state=was, ended_at=ended)
            path = (*path, str(row.id))
        endpoint, kwargs = authz.master.data.getEndpoint(path)
        endpoint.master = master
        params = {**args, "owner": user}
        if args is WITH_PATCH:
            body = base64.b64encode(PATCH.format(user=user).encode()).decode()
            params["patches"] = {"p": body}
        try:
            await authz.assertUserAllowed(path, action, params, {"username": user})
            await endpoint.control(action, params, kwargs)
        except (Forbidden, BadJsonRpc2) as refused:
            answered.append("403" if isinstance(refused, Forbidden) else "R")
            continue
        answered.append("y")
        newest = (await store.ab_tests())[0]
        if action in {"start", "extend"}:
            assert (newest.payer, newest.limited) == (user, user != "ann")
    assert " ".join(answered) == answers


def asked(auth, user: bytes, password: bytes, address: str = "203.0.113.9") -> list[object]:
    """What has become of an attempt; empty while it waits."""
    outcome: list[object] = []
    (factory,) = auth.credentialFactories
    request = SimpleNamespace(getClientAddress=lambda: SimpleNamespace(host=address))
    credentials = factory.decode(base64.b64encode(user + b":" + password), request)
    auth.requestAvatarId(credentials).addBoth(outcome.append)
    return outcome


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []

    def observe(event: dict[str, object]) -> None:
        lines.append(textFromEventDict(event) or "")

    log.addObserver(observe)
    yield lines
    log.removeObserver(observe)


def test_wrong_passwords_are_answered_later_each_time_and_named_in_the_log(tmp_path, logged):
    (tmp_path / "ann.login").write_text("sesame\n")
    clock = Clock()
    auth = BenchAuth(tmp_path, clock=clock)
    for pause_s in (0.5, 1, 2, 4, 8, 10, 10):
        outcome = asked(auth, b"ann", b"open barley")
        clock.advance(pause_s - 0.01)
        assert outcome == []
        clock.advance(0.02)
        assert isinstance(outcome[0].value, UnauthorizedLogin)
    assert logged == ["bench: a log-in as 'ann' from 203.0.113.9 was refused"] * 7
    assert asked(auth, b"ann", b"sesame") == [b"ann"]
    outcome = asked(auth, b"ann", b"again")
    clock.advance(0.51)
    assert outcome


def test_names_in_the_log_are_harmless_and_passwords_are_not_there(tmp_path, logged):
    asked(BenchAuth(tmp_path, clock=Clock()), b"x\nbench: fine \xff" + b"y" * 999, b"sesame")
    (line,) = logged
    assert "\n" not in line
    assert len(line) < 100
    assert "sesame" not in line


def test_who_guesses_by_many_connections_takes_no_memory(tmp_path):
    (tmp_path / "ann.login").write_text("sesame\n")
    clock = Clock()
    auth = BenchAuth(tmp_path, clock=clock)
    outcomes = [asked(auth, b"ann%d" % number, b"x") for number in range(3 * MOST_WAITING)]
    assert sum(not outcome for outcome in outcomes) == MOST_WAITING
    assert isinstance(asked(auth, b"ann", b"sesame")[0].value, UnauthorizedLogin)
    assert asked(auth, b"ann", b"sesame", "198.51.100.7") == [b"ann"]
    clock.advance(MOST_PAUSE_S)
    assert all(outcomes)
    assert asked(auth, b"ann", b"sesame") == [b"ann"]
