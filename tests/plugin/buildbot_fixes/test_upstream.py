"""What each fix works round stands upstream as it did when the fix was written."""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from buildbot.changes import gitpoller
from buildbot.data import masters
from buildbot.db import buildrequests, enginestrategy, pool
from buildbot.master import BuildMaster
from buildbot.process import botmaster, build
from buildbot.wamp import connector
from buildbot.www import rest, service, sse, ws
from twisted.application import internet
from twisted.internet import base
from twisted.mail import smtp

from buildbot_bench.plugin import buildbot_fixes

# By file of buildbot_fixes: the functions in which the defect is, with a digest of their code. One
# that differs was changed upstream: see whether the file is still needed, then put the new one in.
KNOWN: dict[str, dict[Callable[..., Any], str]] = {
    "directories": {ws.WsProtocol.to_json: "628dae40c71e", sse.Consumer.onMessage: "d3042f0b61b7"},
    "hang_ups": {
        enginestrategy.Strategy.should_retry: "668455513e1a",
        pool.DBThreadPool._DBThreadPool__thd: "a81232fec87e",
    },
    "heartbeat": {
        BuildMaster.create_child_services: "1c94ac9716a9",
        internet.TimerService._failed: "25b0ac6cec36",
    },
    "orphaned_requests": {
        buildrequests.BuildRequestsConnectorComponent.unclaimBuildRequests: "689e458cdb73",
        masters.Master._masterDeactivatedHousekeeping: "0575d6c2b82e",
    },
    "poller": {
        gitpoller.GitPoller._process_changes: "0a9490d0aa70",
        gitpoller.GitPoller._dovccmd: "8902816e66cd",
    },
    "router": {
        connector.WampConnector.getService: "419e053a2923",
        connector.MasterService.onLeave: "d64ee4e457d3",
    },
    "session_cookies": {
        service.BuildbotSite.setSessionSecret: "0ced5fa7479c",
        service.WWWService.makeSessionSecret: "f2a07bd11821",
    },
    "smtp_client": {
        smtp.SMTPClient.transformChunk: "370b2bfc8cb3",
        smtp.SMTPClient.finishedFileTransfer: "3101128f61cf",
        smtp.SMTPSenderFactory.buildProtocol: "2f6660be7f73",
        smtp.SenderMixin.sendError: "17ada869dc82",
    },
    "sturdy_build": {
        botmaster.BotMaster.cleanShutdown: "3857db65ddbe",
        build.Build.stepDone: "5bc17ebae009",
        build.Build.stopBuild: "56bb9161874c",
        build.Build.startBuild: "17d7f7d65b87",
        build.Build.buildPreparationFailure: "bd0b1fecf0d2",
        build.Build.buildFinished: "6002ecf8974e",
    },
    "threaded_answers": {
        rest.V2RootResource.renderRest: "0ed97579eec4",
        rest.V2RootResource._write_json_data: "e7966ea8d587",
    },
    "steady_timers": {base.ReactorBase.callLater: "4d4ec0104e95"},
}
CASES = [(name, function) for name, functions in KNOWN.items() for function in functions]


def digest(function: Callable[..., Any]) -> str:
    """Of the code alone: comments and types of another release are no change."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    return hashlib.sha256(ast.unparse(ast.parse(source)).encode()).hexdigest()[:12]


@pytest.mark.parametrize(("name", "function"), CASES)
def test_upstream_has_not_changed_what_a_fix_works_round(name, function):
    assert digest(function) == KNOWN[name][function], (
        f"{function.__module__}.{function.__qualname__} was changed: is"
        f" buildbot_fixes/{name}.py still needed?"
    )


def test_each_fix_names_what_it_works_round():
    files = {path.stem for path in Path(buildbot_fixes.__path__[0]).glob("[a-z]*.py")}
    assert files | {"steady_timers"} == KNOWN.keys()  # that one serves workers, too
