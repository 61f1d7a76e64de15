"""A farm that also compares: each look at a trial finds it a boot further on."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.farm import FakeFarm
from tests.fakes.rehearsal import INVALID_PARAMS, STARTED_AT, RefusalError

INTERNAL_ERROR = -32603
TEXT = "r4+VIMAGE against r4: +4.0%\n"
MARKDOWN = "**r4+VIMAGE against r4**\n"
REPORT = {"kind": "comparison", "lanes": [{"verdict": "better"}]}
FILES = {"README.md": "r4+VIMAGE\n", "RAW/bench.4.forwarding.1.receiver": "1 pps\n"}
PATCH = {"origin": "my.patch", "digest": "0" * 64, "text": "+evil\x1b[2J\n"}
PNG = b"\x89PNG\r\n\x1a\n"
BOOTS = 3

Json = dict[str, Any]


@dataclass
class FakeTrial:
    trial_id: int
    question: Json
    looks: int = 0
    cancelled: bool = False
    awaits: bool = False
    rejected: bool = False


@dataclass
class TrialFarm(FakeFarm):
    """`trial_outcome` is the state in which a trial ends; `away` what the reviews' site says.

    In a `wary` one each trial awaits approval, of which any user is capable.
    """

    trial_outcome: str = "done"
    away: str = ""
    wary: bool = False
    files: dict[str, str] = field(default_factory=lambda: dict(FILES))
    trials: dict[int, FakeTrial] = field(default_factory=dict)

    def control(self, path: str, method: str, params: Json) -> Json:
        if path == "trials" and method == "start":
            if self.away:
                raise RefusalError(400, self.away, INTERNAL_ERROR)
            if params["new"] == params["base"]:
                raise RefusalError(400, "they are the same variant", INVALID_PARAMS)
            trial_id = len(self.trials) + 3
            self.trials[trial_id] = FakeTrial(trial_id, params, awaits=self.wary)
            cost = {"boots": BOOTS, "hours": 0.5}
            return {"trialid": trial_id, "base": params["base"], "new": params["new"], **cost}
        if (match := re.fullmatch(r"trials/(\d+)", path)) and method == "cancel":
            self._trial(int(match[1])).cancelled = True
            return {}
        if match and method in {"approve", "reject"}:
            trial = self._trial(int(match[1]))
            trial.awaits, trial.rejected = False, method == "reject"
            return {}
        return super().control(path, method, params)

    def collection(self, path: str, limit: int) -> Json:
        if path == "trials":
            newest = sorted(self.trials.values(), key=lambda trial: -trial.trial_id)[:limit]
            return {"trials": [self._as_json(trial) for trial in newest], "meta": {}}
        if match := re.fullmatch(r"trials/(\d+)(/files)?", path):
            trial = self._trial(int(match[1]))
            if match[2]:
                rows = [{"path": name, "text": text} for name, text in self.files.items()]
                rows.append({"path": "graph.png", "base64": base64.b64encode(PNG).decode()})
                return {"files": rows, "meta": {}}
            trial.looks += not trial.awaits
            return {"trials": [self._as_json(trial)], "meta": {}}
        return super().collection(path, limit)

    def _trial(self, trial_id: int) -> FakeTrial:
        if trial_id not in self.trials:
            raise RefusalError(404, "not found while getting from <TrialEndpoint>")
        return self.trials[trial_id]

    def _as_json(self, trial: FakeTrial) -> Json:
        ended = trial.cancelled or trial.rejected or trial.looks > BOOTS
        state = self.trial_outcome if ended else "awaiting approval" if trial.awaits else "running"
        state = "cancelled" if trial.cancelled else "rejected" if trial.rejected else state
        done = ended and state == "done"
        return {
            "trialid": trial.trial_id,
            "state": state,
            "base": trial.question["base"],
            "new": trial.question["new"],
            "boots": BOOTS,
            "boots_done": min(trial.looks, BOOTS),
            "now": "" if ended else "measuring \x1b[31mr4",
            "created_at": STARTED_AT,
            "requester": "ann",
            "patches": [PATCH] if trial.awaits else [],
            "text": TEXT if done else None,
            "markdown": MARKDOWN if done else None,
            "report": REPORT if done else None,
        }
