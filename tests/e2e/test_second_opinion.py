"""A culprit is booted on a second machine, and its mail says whether it is there, too."""

from dataclasses import replace
from pathlib import Path

import pytest

from buildbot_bench.demo.farm import LocalFarm
from tests.e2e.histories import numbered_history, record_levels
from tests.e2e.inbox import Inbox, flowing
from tests.e2e.replay_farm import ReplayFarm, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

FIRST, KNOWN, BOTH, MIDDLE, ALONE, LAST = 400000, 400006, 400008, 400010, 400014, 400016
LEVEL, LOST = 620e3, 0.2
PATIENCE_S = 400.0
PAIR = """\
testbeds:
  replay: {labels: pair, worker: lab, boot: 65s, run: 30s}
  twin: {labels: pair, worker: lab2, boot: 65s, run: 30s}
"""


def recording(path: Path, *culprits: int) -> Path:
    """A lab in which each culprit takes a fifth of the level away."""
    revisions = range(FIRST, LAST + 1)
    levels = {svn: LEVEL * (1 - LOST) ** sum(svn >= one for one in culprits) for svn in revisions}
    return record_levels(path, levels, seed=7)


class PairFarm(ReplayFarm):
    """A farm that measures commits on `replay`; `twin`, of the same kind, has another recording."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.local = LocalFarm(replace(self.local.plan, labs=("lab", "lab2")))
        workflow, testbeds = self.local.plan.workflow, self.local.plan.testbeds
        text = workflow.read_text().replace("runs-on: replay", "runs-on: pair")
        start, end = text.index("testbeds:"), text.index("jobs:")
        workflow.write_text(text[:start] + PAIR + "\n" + text[end:])
        first, own = testbeds.read_text(), recording(self.directory / "twin.jsonl", BOTH)
        twin = first.replace("testbeds.replay", "testbeds.twin").replace(
            str(self._series), str(own)
        )
        testbeds.write_text(first + twin)


@pytest.fixture(scope="module")
def farm(farms, inbox: Inbox, tmp_path_factory) -> ReplayFarm:
    home = tmp_path_factory.mktemp("history")
    series = recording(home / "series.jsonl", BOTH, ALONE)
    history = numbered_history(home, FIRST, LAST)
    shape = Shape(tip=f"r{FIRST}", poll_s=2.0, iterations=3, smtp_port=inbox.port, series=series)
    return farms(shape, history, kind=PairFarm)


def test_the_mails_say_where_each_change_is(farm: ReplayFarm, inbox: Inbox) -> None:
    measured = "SELECT count(DISTINCT image_id) FROM bench_iteration"
    farm.history.publish(farm.source, f"r{KNOWN}")
    farm.wait(lambda: farm.value(measured) >= 5, "a past", PATIENCE_S)
    farm.history.publish(farm.source, f"r{MIDDLE}")
    on_both = inbox.wait_for(farm, f"[bench] r{BOTH} ", PATIENCE_S)
    assert "The change is on both testbeds: twin has -20." in flowing(on_both)
    farm.history.publish(farm.source, f"r{LAST}")
    alone = inbox.wait_for(farm, f"[bench] r{ALONE} ", PATIENCE_S)
    assert "The change is only on replay: twin has " in flowing(alone)


def test_rest_and_the_report_say_the_same(farm: ReplayFarm) -> None:
    numbers = sorted(one["searchid"] for one in farm.get("searches")["searches"])
    shown = [farm.get(f"searches/{number}")["searches"][0] for number in numbers]
    asked = [one for one in shown if one["incident"]]
    told = []
    for one in asked:
        _, twin = one["incident"]
        assert twin["boots"] >= 6
        words = one["report"]["second_opinion"].partition(":")[0]
        told.append((twin["testbed"], twin["standing"], words))
    assert told == [
        ("twin", "confirmed", "The change is on both testbeds"),
        ("twin", "denied", "The change is only on replay"),
    ]
