"""Buildbot's www plugin `bench`: the browser's files, pictures and metrics, read-only.

Buildbot's authorisation does not reach paths under /plugins/; pages act through REST.
"""

import re
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from buildbot.www.plugin import Application
from twisted.web.resource import Resource
from twisted.web.static import File

import buildbot_bench
from buildbot_bench.api.answers import SearchState
from buildbot_bench.core.figures import percent
from buildbot_bench.core.profile.formats import format_folded
from buildbot_bench.core.profile.functions import cost_ratio
from buildbot_bench.plugin.db.columns import SearchKind
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.pages.deferred_resource import (
    POLICY,
    DeferredResource,
    LibraryPages,
    SharedAnswers,
    chart_library,
    guard,
    source_of,
)
from buildbot_bench.plugin.pages.histories import HistoryTexts
from buildbot_bench.plugin.pages.metrics import metrics
from buildbot_bench.plugin.queries.captures import TakenCapture, measured_too, taken
from buildbot_bench.plugin.queries.history import marks_of_steps
from buildbot_bench.render.flamegraph import flame_difference, flame_graph
from buildbot_bench.render.html import Tone, badge_svg, glossary_html

_PICTURE = re.compile(rb"([0-9]{1,9})(?:-([0-9]{1,9}))?\.svg")
_STACKS = re.compile(rb"([0-9]{1,9})\.folded")
_SCRIPT = re.compile(r"<script><!\[CDATA\[(.*?)\]\]></script>", re.DOTALL)

# The content type and the text of a page; None when there is no such capture.
Picture = tuple[bytes, str] | None


class FlameGraphPages(Resource):
    """One page for each capture and each two of them, made when it is asked for."""

    def __init__(self, master: Any) -> None:
        super().__init__()
        self._master = master
        self._answers = SharedAnswers[Picture](master.reactor)

    def getChild(self, name: bytes, request: Any) -> Resource:
        """The page of that name."""
        return _Graph(self._master, name, self._answers)


class _Graph(DeferredResource):
    def __init__(self, master: Any, name: bytes, answers: SharedAnswers[Picture]) -> None:
        super().__init__(master)
        self._name = name
        self._answers = answers

    async def body(self, request: Any) -> bytes:
        farm = farm_of(self.master)
        found = await self._answers.get(self._name, lambda: _made(farm, self._name))
        if found is None:
            request.setResponseCode(404)
            kind, text = b"text/plain", "this capture does not exist\n"
        else:
            kind, text = found
        request.setHeader(POLICY, _policy_of(text))
        request.setHeader(b"x-content-type-options", b"nosniff")
        request.setHeader(b"content-type", kind + b"; charset=utf-8")
        return text.encode("utf-8", "replace")


def _policy_of(picture: str) -> bytes:
    """That of a page of its own, which does not depend on who looks at it."""
    # The last: what a capture names comes before it, and is escaped.
    scripts = [source_of(script.encode()) for script in _SCRIPT.findall(picture)[-1:]]
    words = " ".join(scripts) or "'none'"
    style = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    return f"{style}; script-src {words}; sandbox allow-scripts".encode()


async def _made(farm: Farm, name: bytes) -> Picture:
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
    return b"image/svg+xml", await _drawn(known)


async def _capture(farm: Farm, number: bytes) -> TakenCapture | None:
    row = await farm.store.profile(int(number))
    capture = None if row is None else await taken(farm, row)
    return None if capture is None else await measured_too(farm, capture)


async def _drawn(sides: list[TakenCapture]) -> str:
    first = sides[0]
    where = f"{first.row.workload} on {first.row.testbed}"
    if len(sides) == 1:
        return await calculate(flame_graph, first.profile, title=f"{first.label}: {where}")
    old, new = sides
    return await calculate(
        flame_difference,
        old.profile,
        new.profile,
        title=f"{old.label} to {new.label}: {where}",
        old_label=old.label,
        new_label=new.label,
        cost=_cost(old, new),
    )


def _cost(old: TakenCapture, new: TakenCapture) -> float | None:
    rates = None
    if old.level is not None and new.level is not None and old.metric == new.metric:
        rates = (old.level, new.level) if old.metric.is_rate_of_packets else None
    return cost_ratio(old.profile, new.profile, rates=rates)


_LABEL = "bench"


async def badge(farm: Farm) -> str:
    """The badge as SVG."""
    return badge_svg(_LABEL, *await state(farm))


async def state(farm: Farm) -> tuple[str, Tone]:
    """What the newest search came to; `measuring` while there was none."""
    searches = await farm.store.searches(limit=1)
    if not searches:
        return "measuring", Tone.CALM
    (newest,) = searches
    match newest.state:
        case SearchState.FOUND if newest.kind is not SearchKind.EFFECT:
            broken = f"does not {newest.kind}"
            return ("well again", Tone.CALM) if newest.recovery else (broken, Tone.ALARM)
        case SearchState.FOUND:
            return await _of_culprit(farm, newest)
        case state:
            return _WITHOUT_CULPRIT.get(state, (state.value, Tone.BUSY))


async def _of_culprit(farm: Farm, search: SearchRow) -> tuple[str, Tone]:
    """The commit and the change that the report's headline names."""
    step = search.headline
    if step is None:
        return "no known change", Tone.CALM
    (mark,) = await marks_of_steps(farm, search, (step,))
    tone = Tone.ALARM if search.makes_worse(step.effect) else Tone.CALM
    return f"{mark.label} {percent(step.effect)}", tone


_WITHOUT_CULPRIT = {
    SearchState.RUNNING: ("searching", Tone.BUSY),
    SearchState.CANCELLING: ("searching", Tone.BUSY),
    SearchState.SLOPE: ("changes little by little", Tone.ALARM),
    SearchState.NOT_REPRODUCED: ("no known change", Tone.CALM),
    SearchState.CANCELLED: ("no known change", Tone.CALM),
}


async def glossary(_farm: Farm) -> str:
    """What the words of mails and pages mean, as HTML."""
    return glossary_html()


# What programs may expect of a report.
_SCHEMA = Path(buildbot_bench.__file__).with_name("report.schema.json")

Text = Callable[[Farm], Awaitable[str]]


class BenchPages(Application):
    """What `"plugins": {"bench": {}}` in master.cfg stands for."""

    def __init__(self) -> None:
        # Buildbot's own constructor reads the version from a file beside the package.
        self.description = "Buildbot Bench"
        self.version = version("buildbot-bench")
        self.static_dir = Path(__file__).with_name("static")
        self.resource = _Fresh(str(self.static_dir))
        self.ui = True

    def setConfiguration(self, config: Any) -> None:
        """Buildbot says so before it listens, and again at each reconfiguration."""
        super().setConfiguration(config)
        if self.master.www.site is not None:
            guard(self.master.www.site, self.master)

    def setMaster(self, master: Any) -> None:
        """Serve this master's farm; Buildbot says so again at each reconfiguration."""
        super().setMaster(master)
        self.resource.putChild(_SCHEMA.name.encode(), _Fresh(str(_SCHEMA)))
        self.resource.putChild(b"metrics", _Page(master, metrics, b"text/plain; version=0.0.4"))
        self.resource.putChild(b"flamegraph", FlameGraphPages(master))
        self.resource.putChild(b"history", HistoryTexts(master))
        self.resource.putChild(b"glossary.html", _Page(master, glossary, b"text/html"))
        self.resource.putChild(b"library", LibraryPages(chart_library()))
        self.resource.putChild(b"badge.svg", _Page(master, badge, b"image/svg+xml"))


class _Fresh(File):
    """Files that a browser asks for again each time, lest it mixes two releases' modules."""

    def render_GET(self, request: Any) -> Any:
        request.setHeader(b"cache-control", b"no-cache")
        return super().render_GET(request)

    def directoryListing(self) -> Any:
        """There is nothing to browse."""
        return self.childNotFound


class _Page(DeferredResource):
    """A text that is made when it is asked for."""

    def __init__(self, master: Any, text: Text, kind: bytes) -> None:
        super().__init__(master)
        self._text = text
        self._kind = kind
        self._answers = SharedAnswers[str](master.reactor)

    async def body(self, request: Any) -> bytes:
        text = await self._answers.get(b"", lambda: self._text(farm_of(self.master)))
        request.setHeader(b"content-type", self._kind + b"; charset=utf-8")
        request.setHeader(b"cache-control", b"no-cache")
        return text.encode()


ep = BenchPages()
