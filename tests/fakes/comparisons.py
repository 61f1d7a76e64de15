"""A farm with comparisons, each one boot further at each look."""

import base64
import re
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.farm import FakeFarm
from tests.fakes.rehearsal import INVALID_PARAMS, STARTED_AT, RefusalError

INTERNAL_ERROR = -32603
TEXT = "r4+VIMAGE against r4: +4.0%\n"
MARKDOWN = "**r4+VIMAGE against r4**\n"
REPORT = {
    "kind": "comparison",
    "variants": [{"label": "r4"}, {"label": "=cmd()"}],
    "series": [
        {
            "testbed": "apu2",
            "workload": "forwarding",
            "metric": {"name": "throughput", "unit": "pps"},
            "samples": [{"values": [1.5]}, {"values": [2.0, 3.0]}],
            "changes": [{"verdict": "better"}],
        }
    ],
}
CSV = """\
testbed,workload,metric,unit,variant,number,value\r
apu2,forwarding,throughput,pps,r4,1,1.5\r
apu2,forwarding,throughput,pps,'=cmd(),1,2.0\r
apu2,forwarding,throughput,pps,'=cmd(),2,3.0\r
"""
FILES = {"README.md": "r4+VIMAGE\n", "RAW/bench.4.forwarding.1.receiver": "1 pps\n"}
PATCH = {"origin": "my.patch", "digest": "0" * 64, "text": "+evil\x1b[2J\n"}
PNG = b"\x89PNG\r\n\x1a\n"
BOOTS = 3

Json = dict[str, Any]


@dataclass
class FakeComparison:
    comparison_id: int
    question: Json
    looks: int = 0
    cancelled: bool = False
    awaits: bool = False
    rejected: bool = False
    extensions: list[Json] = field(default_factory=list)


def _title(variants: list[str]) -> str:
    base, *new = variants
    return f"{', '.join(new)} against {base}"


@dataclass
class ComparisonFarm(FakeFarm):
    """`comparison_outcome` is the state in which one ends; `away` what the site of reviews says.

    In a `wary` one each comparison awaits approval, of which any user is capable. `besides` is what
    a newer farm says, too.
    """

    comparison_outcome: str = "done"
    away: str = ""
    wary: bool = False
    besides: Json = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=lambda: dict(FILES))
    comparisons: dict[int, FakeComparison] = field(default_factory=dict)

    def control(self, path: str, method: str, params: Json) -> Json:
        if path == "comparisons" and method == "start":
            if self.away:
                raise RefusalError(400, self.away, INTERNAL_ERROR)
            if "r99" in params["variants"]:
                raise RefusalError(400, "r99 is no commit of main", INVALID_PARAMS)
            comparison_id = len(self.comparisons) + 3
            self.comparisons[comparison_id] = FakeComparison(
                comparison_id, params, awaits=self.wary
            )
            return self._announced(self.comparisons[comparison_id])
        if (match := re.fullmatch(r"comparisons/(\d+)", path)) and method == "cancel":
            ended = self._as_json(comparison := self._ab_test(int(match[1])))["state"]
            if ended not in {"running", "awaiting approval"}:
                return {"state": ended}
            comparison.cancelled = True
            return {"state": "cancelling"}
        if match and method == "extend":
            comparison = self._ab_test(int(match[1]))
            comparison.extensions.append(params)
            comparison.looks, comparison.cancelled = 0, False
            return self._announced(comparison)
        if match and method in {"approve", "reject"}:
            comparison = self._ab_test(int(match[1]))
            comparison.awaits, comparison.rejected = False, method == "reject"
            return {}
        return super().control(path, method, params)

    def collection(self, path: str, limit: int) -> Json:
        if path == "comparisons":
            newest = sorted(
                self.comparisons.values(), key=lambda comparison: -comparison.comparison_id
            )[:limit]
            return {"comparisons": [self._as_json(comparison) for comparison in newest], "meta": {}}
        if match := re.fullmatch(r"comparisons/(\d+)(/files)?", path):
            comparison = self._ab_test(int(match[1]))
            if match[2]:
                rows = [{"path": name, "text": text} for name, text in self.files.items()]
                rows.append({"path": "graph.png", "base64": base64.b64encode(PNG).decode()})
                return {"files": rows, "meta": {}}
            comparison.looks += not comparison.awaits
            return {"comparisons": [self._as_json(comparison)], "meta": {}}
        return super().collection(path, limit)

    def _ab_test(self, comparison_id: int) -> FakeComparison:
        if comparison_id not in self.comparisons:
            raise RefusalError(404, "not found while getting from <ComparisonEndpoint>")
        return self.comparisons[comparison_id]

    def _announced(self, comparison: FakeComparison) -> Json:
        title = _title(comparison.question["variants"])
        cost = {"boots": BOOTS, "hours": 0.5}
        return {"comparisonid": comparison.comparison_id, "title": title, **cost, **self.besides}

    def _as_json(self, comparison: FakeComparison) -> Json:
        ended = comparison.cancelled or comparison.rejected or comparison.looks > BOOTS
        state = (
            self.comparison_outcome
            if ended
            else "awaiting approval"
            if comparison.awaits
            else "running"
        )
        state = (
            "cancelled" if comparison.cancelled else "rejected" if comparison.rejected else state
        )
        done = ended and state == "done"
        return {
            **self.besides,
            "comparisonid": comparison.comparison_id,
            "state": state,
            "title": _title(comparison.question["variants"]),
            "boots": BOOTS,
            "boots_done": min(comparison.looks, BOOTS),
            "now": "" if ended else "measuring \x1b[31mr4",
            "created_at": STARTED_AT,
            "requester": "ann",
            "patches": [PATCH] if comparison.awaits else [],
            "text": TEXT if done else None,
            "markdown": MARKDOWN if done else None,
            "report": REPORT if done else None,
        }
