"""A farm's REST interface and pages over HTTP, by Buildbot's resources, without a master.

A client is known as `ann` and may do everything. Connections end with the test's reactor.
"""

from __future__ import annotations

import copy
import http.client
import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from buildbot.data.connector import DataConnector
from buildbot.util.service import MasterService
from buildbot.www.rest import RestRootResource
from twisted.internet import reactor
from twisted.internet.defer import succeed
from twisted.internet.threads import deferToThread
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from buildbot_bench.plugin.pages.application import BenchPages
from buildbot_bench.plugin.rest import endpoints as rest
from buildbot_bench.plugin.service import register_resources
from tests.fakes.master import FakeMaster

API, PAGES = "/api/v2/", "/plugins/bench/"


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body; fails for what JSON has no words for: NaN and the infinities."""
        return json.loads(self.body, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


class ServedFarm:
    """All that the plugin registers, as a browser and programs reach it."""

    def __init__(self, master: FakeMaster) -> None:
        self.data = DataConnector()
        self._resources: list[Any] = []
        rest.install()
        self._front = self._front_of(master)
        self.pages = BenchPages()

    async def start(self, request_factory: type[Request] = Request) -> ServedFarm:
        """Listen on a free port, for as long as the reactor runs."""
        parent = _Parent()
        parent.front = self._front
        await self.data.setServiceParent(parent)
        register_resources(self._front)
        self.pages.setMaster(self._front)
        site = Site(self._root(), requestFactory=request_factory)
        self._port = reactor.listenTCP(0, site, interface="127.0.0.1").getHost().port
        return self

    async def get(self, target: str) -> Answered:
        """What a path gives, which is sent as it is, percent signs and all."""
        return await deferToThread(self._ask, "GET", target, None)

    async def post(self, target: str, method: str, params: object) -> Answered:
        """What a control method gives."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await deferToThread(self._ask, "POST", target, json.dumps(call))

    def _ask(self, method: str, target: str, body: str | None) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            connection.request(method, target, body=body, headers=headers)
            answer = connection.getresponse()
            return Answered(
                status=answer.status,
                headers={name.lower(): value for name, value in answer.getheaders()},
                body=answer.read(),
            )
        finally:
            connection.close()

    def _front_of(self, master: FakeMaster) -> Any:
        """The master as Buildbot's web server sees it; the farm keeps the one that it has."""
        front = copy.copy(master)
        front.data = self.data
        front.config = SimpleNamespace(
            buildbotURL=master.config.buildbotURL, www={"plugins": {"bench": {}}}
        )
        front.www = SimpleNamespace(
            resourceNeedsReconfigs=self._resources.append,
            assertUserAllowed=lambda *_: succeed(None),
            getUserInfos=lambda _: {"username": "ann"},
        )
        return front

    def _root(self) -> Resource:
        root, plugins = Resource(), Resource()
        root.putChild(b"api", RestRootResource(self._front))
        root.putChild(b"plugins", plugins)
        plugins.putChild(b"bench", self.pages.resource)
        for resource in self._resources:
            resource.reconfigResource(self._front.config)
        return root


class _Parent(MasterService):
    """What Buildbot's services find their master by."""

    front: Any = None

    @property
    def master(self) -> Any:
        return self.front
