"""A fake farm over real HTTP: Buildbot's REST manners and one rehearsed search.

The search gets on by one probe at each look, logins are by cookie, JSON-RPC errors have Buildbot's
shape. The contract suite holds the fake farm to the same tests as a real one.
"""

import base64
import json
import re
import secrets
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes import web
from tests.fakes.rehearsal import (
    INVALID_PARAMS,
    NOT_YET,
    REPORT,
    STORY,
    TEXT,
    FakeSearch,
    Json,
    Probe,
    RefusalError,
    forecast,
)
from tests.ports import free_port


@dataclass
class User:
    password: str
    may_act: bool = True


@dataclass
class FakeFarm:
    """A context manager; `users` empty makes an open farm. The other fields may be changed freely.

    `hold_after` is the number of probes after which a search that is started waits; `broken` is an
    HTTP status that every request is answered with; a `mute` farm does what it is asked to, but its
    answer is lost. `not_yet` is said, one word after the other, to who asks or starts something.
    """

    users: dict[str, User] = field(default_factory=dict)
    story: tuple[Probe, ...] = STORY
    outcome: str = "found"
    text: str | None = TEXT
    report: Json | None = field(default_factory=lambda: dict(REPORT))
    subject: str = "Convert the drivers to iflib"
    hold_after: int | None = None
    broken: int | None = None
    mute: bool = False
    not_yet: list[str] = field(default_factory=list)
    logins: int = 0
    searches: dict[int, FakeSearch] = field(default_factory=dict)
    quarantined: set[str] = field(default_factory=set)
    trusted: set[str] = field(default_factory=set)
    _sessions: dict[str, str] = field(default_factory=dict)
    _port: int = field(default_factory=free_port)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Serve, on the same port each time."""
        self._served: AbstractContextManager[str] | None = web.served(
            _Handler, self, port=self._port
        )
        self._served.__enter__()

    def stop(self) -> None:
        """Be gone: connections are refused; a stopped farm may be stopped again."""
        if self._served is not None:
            self._served.__exit__(None, None, None)
        self._served = None

    def forget_sessions(self) -> None:
        """Take no cookie any more that was given out."""
        self._sessions.clear()

    def release(self) -> None:
        """Let the searches that wait get on."""
        for search in self.searches.values():
            search.hold_after = None

    def log_in(self, authorization: str | None) -> str:
        """A session for HTTP Basic."""
        if not self.users:
            raise RefusalError(501, "not implemented")
        basic = (authorization or "").removeprefix("Basic ")
        name, _, password = base64.b64decode(basic).decode().partition(":")
        if name not in self.users or self.users[name].password != password:
            raise RefusalError(401, "Unauthorized")
        self.logins += 1
        session = secrets.token_hex(16)
        self._sessions[session] = name
        return session

    def assert_allowed(self, session: str) -> None:
        if self.users:
            user = self.users.get(self._sessions.get(session, ""))
            if user is None or not user.may_act:
                raise RefusalError(403, "you need to have role 'bench'")

    def control(self, path: str, method: str, params: Json) -> Json:
        if self.not_yet and method in {"check", "forecast", "start"}:
            raise RefusalError(400, self.not_yet.pop(0), NOT_YET)
        if path == "searches" and method == "forecast":
            return forecast(params, self.subject)
        if path == "searches" and method in {"check", "start"}:
            cost = forecast(params, self.subject)
            told = {key: cost[key] for key in ("old", "new", "commits", "testbed", "workload")}
            return ({"searchid": self._start(params)} if method == "start" else {}) | told
        match = re.fullmatch(r"searches/(\d+)", path)
        if match and method == "cancel":
            search = self._search(int(match[1]))
            if search.state != "running":
                return {"state": search.state}
            search.cancelled = True
            return {"state": "cancelling"}
        if match and method == "mark":
            return self._search(int(match[1])).mark(params, author="olivier")
        if path.startswith("testbeds/") and method == "release":
            return self._end_quarantine(unquote(path.removeprefix("testbeds/")), **params)
        raise RefusalError(501, f"action: {method} is not supported", -32601)

    def _end_quarantine(self, testbed: str, *, false_alarm: bool = False) -> Json:
        if testbed != "replay":
            raise RefusalError(400, f"there is no testbed {testbed!r}", INVALID_PARAMS)
        if testbed not in self.quarantined:
            raise RefusalError(400, f"{testbed} is not in quarantine", INVALID_PARAMS)
        self.quarantined.remove(testbed)
        self.trusted |= {testbed} if false_alarm else set()
        return {}

    def collection(self, path: str, limit: int) -> Json:
        if path == "searches":
            newest = sorted(self.searches, reverse=True)[:limit]
            rows = [self.searches[search_id].as_json() for search_id in newest]
            return {"searches": rows, "meta": {"total": len(self.searches)}}
        if match := re.fullmatch(r"searches/(\d+)(/probes)?", path):
            search = self._search(int(match[1]))
            if match[2]:
                return {"probes": search.probes_as_json(), "meta": {}}
            search.get_on()
            return {"searches": [search.as_json()], "meta": {}}
        raise RefusalError(404, f"Invalid path: bench/{path}")

    def _start(self, params: Json) -> int:
        effect = params.get("min_effect", 0.02)
        if not isinstance(effect, float) or not 0 < effect < 1:
            raise RefusalError(400, f"min_effect {effect!r} is no share", INVALID_PARAMS)
        search_id = max(self.searches, default=6) + 1
        self.searches[search_id] = FakeSearch(
            search_id=search_id,
            question=dict(params),
            story=self.story,
            outcome=self.outcome,
            text=self.text,
            report=self.report,
            hold_after=self.hold_after,
        )
        return search_id

    def _search(self, search_id: int) -> FakeSearch:
        if search_id not in self.searches:
            raise RefusalError(404, "not found while getting from <SearchEndpoint>")
        return self.searches[search_id]


class _Handler(web.Handler):
    """HTTP as Buildbot speaks it."""

    @property
    def _farm(self) -> FakeFarm:
        return self.fake  # type: ignore[no-any-return]

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        try:
            self._refuse_if_broken()
            if url.path == "/auth/login":
                session = self._farm.log_in(self.headers["Authorization"])
                self._answer(302, {}, cookie=f"TWISTED_SESSION={session}; Path=/; Secure; HttpOnly")
                return
            limit = int(parse_qs(url.query).get("limit", ["1000"])[0])
            self._answer(200, self._farm.collection(self._bench_path(url.path), limit))
        except RefusalError as refusal:
            self._answer(refusal.status, {"error": refusal.message})

    def do_POST(self) -> None:
        body = self.sent()
        try:
            self._refuse_if_broken()
            call = self._call(body)
            cookie = self.headers["Cookie"] or ""
            self._farm.assert_allowed(cookie.removeprefix("TWISTED_SESSION="))
            path = self._bench_path(urlsplit(self.path).path)
            result = self._farm.control(path, call["method"], call["params"])
            if self._farm.mute and call["method"] == "start":
                return
            self._answer(200, {"jsonrpc": "2.0", "id": call["id"], "result": result})
        except RefusalError as refusal:
            error = {"code": refusal.code, "message": refusal.message}
            self._answer(refusal.status, {"jsonrpc": "2.0", "id": None, "error": error})

    def _call(self, body: bytes) -> Json:
        if self.headers["Content-Type"] != "application/json":
            raise RefusalError(400, "Invalid content-type (use application/json)")
        call: Json = json.loads(body)
        return call

    def _refuse_if_broken(self) -> None:
        if self._farm.broken is not None:
            raise RefusalError(self._farm.broken, "the database is locked", -32603)

    def _bench_path(self, path: str) -> str:
        if not path.startswith("/api/v2/bench/"):
            raise RefusalError(404, f"Invalid path: {path}")
        return path.removeprefix("/api/v2/bench/")

    def _answer(self, status: int, value: Json, cookie: str | None = None) -> None:
        headers = {"Content-Type": "application/json"} | ({"Set-Cookie": cookie} if cookie else {})
        self.answer(status, json.dumps(value).encode(), headers)
