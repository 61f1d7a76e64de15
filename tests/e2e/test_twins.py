"""Two machines of one kind: two searches run side by side, each on one machine throughout."""

from dataclasses import replace

import pytest

from buildbot_bench.demo.farm import LocalFarm
from tests.e2e.replay_farm import ReplayFarm, Row, Shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

TWINS = """\
testbeds:
  replay: {labels: apu2, worker: lab, boot: 65s, run: 30s}
  twin: {labels: apu2, worker: lab2, boot: 65s, run: 30s}
"""
BLAST_S = 2.0


class TwinFarm(ReplayFarm):
    """A farm with a second lab worker, whose testbed answers as the first one does."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.local = LocalFarm(replace(self.local.plan, labs=("lab", "lab2")))
        workflow = self.local.plan.workflow
        text = workflow.read_text().replace("runs-on: replay", "runs-on: apu2")
        start, end = text.index("testbeds:"), text.index("jobs:")
        workflow.write_text(text[:start] + TWINS + "\n" + text[end:])
        testbeds = self.local.plan.testbeds
        first = testbeds.read_text()
        testbeds.write_text(first + first.replace("testbeds.replay", "testbeds.twin"))


@pytest.fixture(scope="module")
def farm(farms) -> ReplayFarm:
    return farms(Shape(blast_s=BLAST_S), kind=TwinFarm)


def test_two_searches_of_one_kind_of_testbed_run_at_once_each_on_one_machine(farm) -> None:
    first = farm.begin_search("r313440", "r313448", "--testbed", "apu2")
    second = farm.begin_search("r313444", "r313448")
    boots = farm.wait(lambda: boots_side_by_side(farm), "boots of both testbeds at one time")
    where = {(boot["search_id"], boot["testbed"]) for boot in boots}
    assert where == {(first, "replay"), (second, "twin")}


def boots_side_by_side(farm: TwinFarm) -> list[Row]:
    """All boots of searches, once there are some of each testbed that went on at the same time."""
    boots = farm.rows(
        "SELECT search_id, iteration.testbed, at_s - iteration.duration_s AS begun_s, at_s"
        " FROM bench_iteration AS iteration JOIN bench_probe ON bench_probe.id = probe_id"
        " WHERE search_id IS NOT NULL"
    )
    overlap = any(
        one["begun_s"] < other["at_s"] and other["begun_s"] < one["at_s"]
        for one in boots
        for other in boots
        if one["testbed"] < other["testbed"]
    )
    return boots if overlap else []
