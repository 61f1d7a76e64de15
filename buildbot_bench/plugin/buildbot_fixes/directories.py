"""The removal of machines' directories from REST answers and events.

Buildbot 4.3 publishes the directories of builds, masters and workers, and the words of commands, in
properties, names, logs and events.
"""

import copy
import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from buildbot.data.base import ListResult
from buildbot.data.logchunks import LogChunkEndpointBase
from buildbot.util import toJson, unicode2bytes
from buildbot.www.sse import Consumer
from buildbot.www.ws import WsProtocol

Hide = Callable[[Any], Any]

HIDDEN = "…"
_KEYS = frozenset({"basedir", "builddir", "workdir", "environ"})
_MASTER = {"masterid", "name", "last_active"}
# A line that Buildbot wrote itself above or below a command's output begins with an h.
_OF_BUILDBOT = re.compile(r"(?<=^h).*$", re.MULTILINE)
_DIRECTORY = re.compile(r"(?<![\w/:.…])/(?:[^\s/'\",;]+/)*(?=[^\s/'\",;])")


def hiding(master: Any) -> Hide:
    """Return what hides the directories of a master, its workers and its user in JSON."""
    return partial(_hidden, _roots(master))


def _roots(master: Any) -> re.Pattern[str]:
    """The directories that are known of the farm, and those that these lie in, longest first."""
    theirs = (getattr(one, "worker_basedir", None) for one in master.workers.workers.values())
    known = [Path(one) for one in (master.basedir, os.environ.get("HOME"), *theirs) if one]
    with_parents = {str(path) for one in known for path in (one, one.parent)}
    # /home or /srv alone says nothing, and stands in many a text.
    told = sorted((path for path in with_parents if path.count("/") > 1), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(map(re.escape, told)) or '(?!)'})(?![\w.-])")


def _hidden(roots: re.Pattern[str], value: Any) -> Any:
    """Return a copy of an answer, without directories."""
    match value:
        case str():
            return roots.sub(HIDDEN, value) if "/" in value else value
        case ListResult():
            of = {"offset": value.offset, "total": value.total, "limit": value.limit}
            return ListResult(_hidden(roots, value.data), **of)
        case list() | tuple():
            return [_hidden(roots, one) for one in value]
        case {"logid": _, "firstline": _, "content": str() as content}:
            return value | {"content": roots.sub(HIDDEN, _OF_BUILDBOT.sub(_shortened, content))}
        case dict():
            told = {name: _hidden(roots, one) for name, one in value.items() if name not in _KEYS}
            if value.keys() >= _MASTER:
                told["name"] = str(value["name"]).partition(":")[0]
            return told
    return value


def _shortened(line: re.Match[str]) -> str:
    return _DIRECTORY.sub(f"{HIDDEN}/", line[0])


class WithoutDirectories:
    """A resource of Buildbot's, or of ours, that tells no directory to those who read it."""

    def __init__(self, endpoint: Any, hide: Hide) -> None:
        self._endpoint = endpoint
        self._hide = hide
        if isinstance(endpoint, LogChunkEndpointBase):
            self._endpoint = copy.copy(endpoint)
            self._endpoint.get_log_lines = self._log_lines

    def __getattr__(self, name: str) -> Any:
        """All else is the resource's own."""
        return getattr(self._endpoint, name)

    async def get(self, spec: Any, kwargs: dict[str, Any]) -> Any:
        """What the resource tells."""
        return self._hide(await self._endpoint.get(spec, kwargs))

    async def _log_lines(self, log: Any, prefix: str) -> AsyncGenerator[str, None]:
        """The text of a log, as Buildbot's own method gives it."""
        yield prefix
        async for line in self._endpoint.master.db.logs.iter_log_lines(log.id):
            shown = self._hide(_OF_BUILDBOT.sub(_shortened, line) if log.type == "s" else line)
            yield shown[1:] if log.type == "s" else shown


def install() -> None:
    """Have Buildbot's events tell no directory either: it offers no other way than its classes."""
    WsProtocol.to_json = _event_of_socket
    Consumer.onMessage = _event_of_stream


def _event_of_socket(protocol: Any, message: dict[str, Any]) -> bytes:
    told = hiding(protocol.master)(message)
    return json.dumps(told, default=toJson, separators=(",", ":")).encode()


def _event_of_stream(consumer: Any, event: Iterable[str | bytes], data: Any) -> None:
    request = consumer.request
    key = [word.decode() if isinstance(word, bytes) else word for word in event]
    told = {"key": key, "message": hiding(request.site.master)(data)}
    text = json.dumps(told, default=toJson)
    request.write(b"event: event\ndata: " + unicode2bytes(text) + b"\n\n")
