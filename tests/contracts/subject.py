"""The interface of a farm, real or fake, on which the REST contract is tested."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.asking import ASKED, pause

Json = dict[str, Any]
SEARCHES = "/api/v2/bench/searches"
FINAL = {"cancelled", "found", "not-reproduced", "inconclusive", "failed"}

_REPLAY = pytest.param("replay", marks=[pytest.mark.e2e, pytest.mark.timeout(600)])
_RUNNING = ["running"] if "BENCH_CONTRACT_FARM" in os.environ else []
# The farms by their names; a running one may have no logins after all.
WITH_LOGINS = ["fake", _REPLAY, *_RUNNING]


@dataclass(frozen=True, kw_only=True)
class FarmUnderTest:
    """A farm that runs. Searching old..new finds a culprit within `deadline_s`.

    `unknown` are the ends of a range of which next to nothing was measured yet.
    `password` belongs to `user`, who may start searches. A farm without logins has no user.
    """

    url: str
    old: str
    new: str
    unknown: tuple[str, str]
    testbed: str
    workload: str
    user: str | None = None
    password: str = ""
    deadline_s: float = 180.0

    @contextmanager
    def stranger(self) -> Iterator[httpx.Client]:
        """Somebody who has not logged in."""
        with httpx.Client(base_url=self.url, **ASKED) as client:
            yield client

    @contextmanager
    def member(self) -> Iterator[httpx.Client]:
        """Somebody who may start searches."""
        with self.stranger() as client:
            if self.user is not None:
                login = client.get("/auth/login", auth=(self.user, self.password))
                assert login.status_code < 400
                for cookie in client.cookies.jar:
                    cookie.secure = False  # as commands have it, for a farm behind a proxy
            yield client

    def wait(self, client: httpx.Client, search_id: int, until: Callable[[Json], bool]) -> Json:
        """Look at a search until it is as it should be; the last look."""
        deadline_s = time.monotonic() + self.deadline_s
        while True:
            began_s = time.monotonic()
            found: Json = client.get(f"{SEARCHES}/{search_id}").json()["searches"][0]
            if until(found):
                return found
            assert time.monotonic() < deadline_s, f"still {found['state']}: {found['now']}"
            pause(began_s)


def post(client: httpx.Client, path: str, method: str, params: Json) -> httpx.Response:
    """A JSON-RPC 2.0 call, as Buildbot takes it."""
    body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    return client.post(path, json=body)
