"""The search that the fake farm plays, and its refusals."""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

FIRST, LAST = 311848, 313448
STARTED_AT = 1479384000.0
INVALID_PARAMS = -32602
NOT_YET = -32001
MARKS = ("expected", "noise", "fixed", "again")

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One line of the rehearsed search; suspects are those that it leaves."""

    svn: int
    value: float | None
    suspects: tuple[tuple[int, int, float, float], ...]
    failure: str | None = None
    image: int = 0


STORY = (
    Probe(svn=311848, value=725600.0, suspects=()),
    Probe(svn=313448, value=540300.0, suspects=((311848, 313448, 0.99, -0.255),)),
    Probe(svn=312648, value=540123.0, suspects=((311848, 312648, 0.97, -0.256),)),
    Probe(svn=312248, value=None, suspects=((311848, 312648, 0.97, -0.256),), failure="no boot"),
    Probe(svn=311849, value=539800.0, suspects=((311848, 311849, 0.993, -0.256),)),
    Probe(
        svn=311849,
        value=540050.0,
        image=1,
        suspects=((311848, 311849, 0.9987, -0.256), (312648, 313448, 0.4, 0.022)),
    ),
)
TEXT = "r311849 changed forwarding on replay by -25.6 % [99 % sure]\n"
REPORT = {"kind": "culprit", "steps": [{"old": "r311848", "new": "r311849", "effect": -0.256}]}


class RefusalError(Exception):
    """An HTTP error with the JSON-RPC code that Buildbot gives it."""

    def __init__(self, status: int, message: str, code: int = -32600) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


@dataclass
class FakeSearch:
    search_id: int
    question: Json
    story: tuple[Probe, ...]
    outcome: str
    text: str | None
    report: Json | None
    hold_after: int | None
    done: int = 0
    cancelled: bool = False
    marks: list[Json] = field(default_factory=list)

    def get_on(self) -> None:
        if self.done != self.hold_after:
            self.done = min(len(self.story), self.done + 1)

    def mark(self, params: Json, author: str) -> Json:
        """Take a mark as a farm does, and refuse what it refuses."""
        if self.state == "running":
            raise RefusalError(400, f"search {self.search_id} has not ended", INVALID_PARAMS)
        kind, fix = params.get("mark"), params.get("revision", "")
        if kind not in MARKS or bool(fix) != (kind == "fixed"):
            raise RefusalError(400, f"{kind!r} {fix!r} is no mark", INVALID_PARAMS)
        if fix:
            _revision(params, "revision", "")
        kept = {"kind": kind, "author": author, "at": STARTED_AT, "fixed_by": fix}
        self.marks.append(kept | {"pending": kind == "again"})
        return self.marks[-1]

    @property
    def state(self) -> str:
        if self.cancelled:
            return "cancelled"
        return self.outcome if self.done == len(self.story) else "running"

    def as_json(self) -> Json:
        ended = self.state != "running"
        cost = forecast(self.question)
        suspects = self.story[self.done - 1].suspects if self.done else ()
        return {
            **{key: cost[key] for key in ("old", "new", "commits", "testbed", "workload")},
            "searchid": self.search_id,
            "state": self.state,
            "unit": "pps",
            "created_at": STARTED_AT,
            "ended_at": STARTED_AT + 600 if ended else None,
            "requester": "olivier",
            "iterations_done": self.done,
            "images_built": self.done,
            "forecast": cost if self.done > 1 else None,
            "marks": self.marks,
            "incident": [],
            "suspects": [
                {"old": f"r{old}", "new": f"r{new}", "probability": p, "effect": effect}
                for old, new, p, effect in suspects
            ],
            "now": "" if ended else f"measuring r{self.story[self.done].svn} on replay",
            "report": self.report if ended and not self.cancelled else None,
            "text": self.text if ended and not self.cancelled else None,
        }

    def probes_as_json(self) -> list[Json]:
        return [self._probe_as_json(i) for i in range(min(self.done + 1, len(self.story)))]

    def _probe_as_json(self, index: int) -> Json:
        probe, ended = self.story[index], index < self.done
        state = "done" if ended else "cancelled" if self.cancelled else "issued"
        return {
            "probeid": 33 + index,
            "serial": index + 1,
            "label": f"r{probe.svn}",
            "position": probe.svn - FIRST + 1,
            "image": probe.image,
            "state": state,
            "values": [probe.value] if ended and probe.value is not None else [],
            "unit": "pps",
            "failure": probe.failure if ended else None,
            "at": STARTED_AT + 60 * (index + 1) if ended else None,
            "duration_s": 3.2 if ended else None,
        }


def forecast(params: Json, subject: str = "Convert the drivers to iflib") -> Json:
    """What a search costs here: always the same."""
    old, new = _revision(params, "old", subject), _revision(params, "new", subject)
    for key, known in (("testbed", "replay"), ("workload", "forwarding")):
        if params.get(key, known) != known:
            raise RefusalError(
                400, f"no {key} {params[key]!r}; this farm has {known}", INVALID_PARAMS
            )
    if old["position"] >= new["position"]:
        message = f"{old['label']} does not come before {new['label']}"
        raise RefusalError(400, message, INVALID_PARAMS)
    return {
        "old": old,
        "new": new,
        "commits": new["position"] - old["position"],
        "testbed": "replay",
        "workload": "forwarding",
        "images": {"median": 29, "p90": 35},
        "iterations": {"median": 40, "p90": 50},
        "hours": {"median": 1.5, "p90": 2.1},
        "known_iterations": 12,
    }


def _revision(params: Json, key: str, subject: str) -> Json:
    text = params.get(key)
    match = re.fullmatch(r"r(\d{1,9})", text) if isinstance(text, str) else None
    if match is None or not FIRST <= int(match[1]) <= LAST:
        message = f"no revision {text!r} in this repository; the oldest is r{FIRST}"
        raise RefusalError(400, message, INVALID_PARAMS)
    return {
        "label": text,
        "sha": hashlib.sha1(str(text).encode()).hexdigest(),
        "position": int(match[1]) - FIRST + 1,
        "subject": subject,
        "author": "sbruno",
    }
