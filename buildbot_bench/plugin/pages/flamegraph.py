"""Flame graphs under plugins/bench/flamegraph/: 7.svg, the difference 7-8.svg, and 7.folded.

What they show was written by strangers: the names of a kernel's functions. A browser is told to
take them for the picture or the text that they are, to load nothing, and to run their script
apart from all that Buildbot's pages may do.
"""

from __future__ import annotations

import re
from typing import Any

from twisted.internet.threads import deferToThread
from twisted.web.resource import Resource

from buildbot_bench.core.profile import format_folded
from buildbot_bench.plugin.captures import Taken, taken
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.pages.answer import Answer
from buildbot_bench.render.flamegraph import flame_difference, flame_graph

_PICTURE = re.compile(rb"([0-9]{1,9})(?:-([0-9]{1,9}))?\.svg")
_STACKS = re.compile(rb"([0-9]{1,9})\.folded")
_POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
    b" sandbox allow-scripts"
)


class FlameGraphs(Resource):
    """One page for each capture and each two of them, made when it is asked for."""

    def __init__(self, master: Any) -> None:
        super().__init__()
        self._master = master

    def getChild(self, name: bytes, request: Any) -> Resource:
        """The page of that name."""
        return _Graph(self._master, name)


class _Graph(Answer):
    def __init__(self, master: Any, name: bytes) -> None:
        super().__init__(master)
        self._name = name

    async def body(self, request: Any) -> bytes:
        request.setHeader(b"content-security-policy", _POLICY)
        request.setHeader(b"x-content-type-options", b"nosniff")
        found = await _made(farm_of(self.master), self._name)
        if found is None:
            request.setResponseCode(404)
            kind, text = b"text/plain", "there is no such capture\n"
        else:
            kind, text = found
        request.setHeader(b"content-type", kind + b"; charset=utf-8")
        return text.encode("utf-8", "replace")


async def _made(farm: Farm, name: bytes) -> tuple[bytes, str] | None:
    """The content type and the text of a page; None when there is no such capture."""
    if match := _STACKS.fullmatch(name):
        capture = await _capture(farm, match[1])
        return None if capture is None else (b"text/plain", format_folded(capture.profile))
    if not (match := _PICTURE.fullmatch(name)):
        return None
    sides = [await _capture(farm, number) for number in match.groups() if number is not None]
    known = [side for side in sides if side is not None]
    if len(known) < len(sides):
        return None
    return b"image/svg+xml", await deferToThread(_drawn, known)


async def _capture(farm: Farm, number: bytes) -> Taken | None:
    row = await farm.store.profile(int(number))
    return None if row is None else await taken(farm, row)


def _drawn(sides: list[Taken]) -> str:
    first = sides[0]
    where = f"{first.row.workload} on {first.row.testbed}"
    if len(sides) == 1:
        return flame_graph(first.profile, title=f"{first.label}: {where}")
    old, new = sides
    return flame_difference(
        old.profile,
        new.profile,
        title=f"{old.label} to {new.label}: {where}",
        old_label=old.label,
        new_label=new.label,
    )
