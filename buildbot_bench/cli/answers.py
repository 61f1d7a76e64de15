"""The farm's answers on a search, parsed and cleaned of control characters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import long_line, several_lines

Fields = Mapping[str, Any]


class RemoteSearchState(StrEnum):
    """Where a search stands; all but the first two are final."""

    RUNNING = "running"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    FOUND = "found"
    SLOPE = "slope"
    NOT_REPRODUCED = "not-reproduced"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class RemoteProbeState(StrEnum):
    """Where a probe stands; all but the first two are final."""

    NEW = "new"
    ISSUED = "issued"
    DONE = "done"
    LOST = "lost"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """One end of a range, as the farm resolved it."""

    label: str
    sha: str
    position: int
    subject: str
    author: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastSpread:
    """An expected number: the median, and what nine of ten searches stay below."""

    median: float
    p90: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteQuestion:
    """What is searched; `warnings` say what to doubt of the names of its ends."""

    old: End
    new: End
    commits: int
    testbed: str
    workload: str
    warnings: tuple[str, ...] = ()
    iteration: str = ItemUnderTest.KERNEL.iteration


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteForecast(RemoteQuestion):
    """What a search will cost; `known_iterations` were measured before and are not repeated."""

    images: ForecastSpread
    iterations: ForecastSpread
    hours: ForecastSpread
    known_iterations: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteSuspect:
    """A part (old, new] of the range in which a step may lie.

    `effect` is relative to old, None where builds or boots fail.
    """

    old: str
    new: str
    probability: float
    effect: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteSearch:
    """A search as it stands; `text` is the report when there is one.

    `kind` says what it looks for: an `effect`, or what does not `build` or `boot`. `iteration` is
    what one measurement is called: a boot, a run.
    """

    search_id: int
    state: RemoteSearchState
    testbed: str
    workload: str
    old: End
    new: End
    commits: int
    iterations_done: int
    images_built: int
    forecast: RemoteForecast | None
    suspects: tuple[RemoteSuspect, ...]
    now: str
    created_at_s: float
    requester: str
    text: str | None
    report: Fields | None
    kind: str = "effect"
    iteration: str = ItemUnderTest.KERNEL.iteration

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in {RemoteSearchState.RUNNING, RemoteSearchState.CANCELLING}


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteProbe:
    """One measured revision of a search; `values` are in `unit`, one per iteration."""

    probe_id: int
    serial: int
    label: str
    position: int
    image: int
    state: RemoteProbeState
    values: tuple[float, ...]
    unit: str
    failure: str | None
    at_s: float | None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in {RemoteProbeState.NEW, RemoteProbeState.ISSUED}


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Read an answer that may have another shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InfraError(
            f"the farm's answer about a {what} is not understood: {long_line(repr(error))}",
            hint="install the release of buildbot-bench that the farm runs",
        ) from error


def _number(raw: Any) -> float:
    value = float(raw)
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number")
    return value


def _end(raw: Fields) -> End:
    return End(
        label=long_line(raw["label"]),
        sha=long_line(raw["sha"]),
        position=int(raw["position"]),
        subject=long_line(raw.get("subject") or ""),
        author=long_line(raw.get("author") or ""),
    )


def _spread(raw: Fields) -> ForecastSpread:
    return ForecastSpread(median=_number(raw["median"]), p90=_number(raw["p90"]))


def _suspect(raw: Fields) -> RemoteSuspect:
    return RemoteSuspect(
        old=long_line(raw["old"]),
        new=long_line(raw["new"]),
        probability=_number(raw["probability"]),
        effect=None if raw["effect"] is None else _number(raw["effect"]),
    )


def iteration_of(raw: Fields) -> str:
    """What the farm calls one measurement; a farm that says nothing boots kernels."""
    nouns = raw.get("nouns") or {}
    return long_line(nouns.get("iteration") or ItemUnderTest.KERNEL.iteration)


def read_question(raw: Fields) -> RemoteQuestion:
    """Read what the farm says of a search that it began; raises InfraError when it is nothing."""
    with understood("search"):
        return RemoteQuestion(**_question(raw))


def _question(raw: Fields) -> dict[str, Any]:
    return {
        "old": _end(raw["old"]),
        "new": _end(raw["new"]),
        "commits": int(raw["commits"]),
        "testbed": long_line(raw["testbed"]),
        "workload": long_line(raw["workload"]),
        "warnings": tuple(map(long_line, raw.get("warnings") or ())),
    }


def read_forecast(raw: Fields) -> RemoteForecast:
    """Read the farm's forecast; raises InfraError when it is none."""
    with understood("forecast"):
        return RemoteForecast(
            **_question(raw),
            images=_spread(raw["images"]),
            iterations=_spread(raw["iterations"]),
            hours=_spread(raw["hours"]),
            known_iterations=int(raw.get("known_iterations") or 0),
        )


def read_search(raw: Fields) -> RemoteSearch:
    """Read one search; raises InfraError when it is none."""
    with understood("search"):
        text = raw.get("text")
        return RemoteSearch(
            search_id=int(raw["searchid"]),
            state=RemoteSearchState(raw["state"]),
            testbed=long_line(raw["testbed"]),
            workload=long_line(raw["workload"]),
            old=_end(raw["old"]),
            new=_end(raw["new"]),
            commits=int(raw["commits"]),
            iterations_done=int(raw.get("iterations_done") or 0),
            images_built=int(raw.get("images_built") or 0),
            forecast=read_forecast(raw["forecast"]) if raw.get("forecast") else None,
            suspects=tuple(_suspect(suspect) for suspect in raw.get("suspects") or ()),
            now=long_line(raw.get("now") or ""),
            created_at_s=_number(raw["created_at"]),
            requester=long_line(raw.get("requester") or ""),
            text=None if text is None else several_lines(text),
            report=raw.get("report"),
            kind=long_line(raw.get("kind") or "effect"),
            iteration=iteration_of(raw),
        )


def read_probe(raw: Fields) -> RemoteProbe:
    """Read one probe; raises InfraError when it is none."""
    with understood("probe"):
        failure, at_s = raw.get("failure"), raw.get("at")
        return RemoteProbe(
            probe_id=int(raw["probeid"]),
            serial=int(raw["serial"]),
            label=long_line(raw["label"]),
            position=int(raw["position"]),
            image=int(raw["image"]),
            state=RemoteProbeState(raw["state"]),
            values=tuple(_number(value) for value in raw.get("values") or ()),
            unit=long_line(raw.get("unit") or ""),
            failure=None if failure is None else long_line(failure),
            at_s=None if at_s is None else _number(at_s),
        )
