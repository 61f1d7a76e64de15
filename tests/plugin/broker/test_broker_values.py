"""The named values of a commit's runs are judged together, and are one incident."""

import random

import pytest

from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.metric import Metric
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.broker.incidents import Incidents
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.queries.judgements import marked_changes, settled_of_values
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.render.message import report_text

VALUES, SLOWED, LAST, CULPRIT = 300, 37, 14, 12
MEAN = "ns (300 values #abcdef)"


def names() -> list[Metric]:
    return [Metric(name=f"BM/{n}", unit="ns", higher_is_better=False) for n in range(VALUES)]


class Suite:
    """A lab whose runs print 300 values: from a commit on, 37 of them take longer."""

    def __init__(self, past, *, factor: float = 1.0, sigma: float = 0.005) -> None:
        self.past, self.factor, self.sigma = past, factor, sigma
        self._draw = random.Random(1)

    async def run(self, probe, position: int) -> None:
        """Do the iterations of a request."""
        for ordinal in range(probe.iterations):
            await self.past.add(probe, ordinal, 1e3, unit=MEAN)
            named = {one: self._value(n, position) for n, one in enumerate(names())}
            await self.past.farm.store.add_values(probe=probe, ordinal=ordinal, named=named)
        await self.past.farm.store.change(probe, state="done", ended_at=self.past.farm.now())

    def _value(self, number: int, position: int) -> float:
        slowed = number < SLOWED and position >= CULPRIT
        return 1e3 * (1 + self.sigma * self._draw.gauss(0, 1)) * (self.factor if slowed else 1)

    async def commit(self, position: int, *, judged: bool = False) -> None:
        probe = await self.past.probe(position, iterations=3, judged=judged)
        await self.run(probe, position)

    async def answers(self) -> int:
        """Do all that is asked for; the number of iterations."""
        store = self.past.farm.store
        done = 0
        for probe in await store.probes(state="new"):
            image = await store.image(probe.image_id)
            if image.state == "wanted":
                image = await self.past.image(image.position, ordinal=image.ordinal)
            await self.run(probe, image.position)
            done += probe.iterations
        return done


@pytest.fixture
def suite(past):
    return Suite(past)


async def judged(suite) -> int:
    """Judge to the end; how many boots that took."""
    boots = 0
    for _ in range(9):
        await Judging(suite.past.farm).advance()
        more = await suite.answers()
        if not more:
            return boots
        boots += more
    raise AssertionError("the judge asks for ever")


async def test_a_calm_suite_leaves_no_row_and_asks_for_no_boot(suite, farm):
    await suite.past.commits(*range(1, LAST + 1))
    for position in range(1, LAST + 1):
        await suite.commit(position)
        assert await judged(suite) == 0
    assert [row.value for row in await farm.store.judgements()] == [""] * LAST


async def test_a_commit_that_slows_37_of_300_values_is_one_search_and_one_report(suite, farm):
    await suite.past.commits(*range(1, LAST + 1))
    suite.factor = 1.12
    for position in range(1, CULPRIT):
        await suite.commit(position, judged=True)
    await suite.commit(CULPRIT)
    boots = await judged(suite)
    assert 0 < boots <= 20  # for all of them
    alarms = [row for row in await farm.store.judgements("regression") if row.value]
    assert {row.value for row in alarms} == {f"BM/{n}" for n in range(SLOWED)}
    (search,) = await farm.store.searches()
    assert (search.value in {row.value for row in alarms}, search.unit) == (True, "ns")
    assert {row.search_id for row in alarms} == {search.id}
    members = await farm.store.series_of_incident(search.id)
    assert len(members) == SLOWED - 1

    await suite.commit(LAST)  # the next commit raises no second alarm
    await judged(suite)
    assert len(await farm.store.searches()) == 1
    old = CULPRIT - 1 - search.old_position
    step = Step(old=old, new=old + 1, effect=0.12, low=0.115, high=0.125, probability=0.999)
    answer = Answer(steps=(step,), reproduced=True, unresolved=(), reason="located")
    await farm.store.change(search, state="found", answer=answer, ended_at=farm.now())
    for _ in range(9):
        await Incidents(farm).advance()
        if not await suite.answers():
            break
    members = await farm.store.series_of_incident(search.id)
    assert {member.standing for member in members} == {Standing.CONFIRMED}
    doubted = next(row for row in alarms if row.value == "BM/5")
    await farm.store.add_mark(kind="expected", author="a", now=1.0, search_id=search.id)
    await farm.store.add_mark(kind="noise", author="a", now=2.0, judgement_id=doubted.id)
    settled = await settled_of_values(farm, "apu", "forwarding", 0, 0.01, branch="main")
    said = {name: [one for one in its if one.said] for name, its in settled.items()}
    for name, its in said.items():
        assert its == await marked_changes(farm, ("apu", "forwarding"), "main", name)
    assert (len(said), {len(its) for name, its in said.items() if name != "BM/5"}) == (SLOWED, {1})
    assert len(said["BM/5"]) == 2
    report = await report_of(farm, await farm.store.search(search.id))
    effects = [row.effect for row in report.scope if "value" in row.workload]
    assert len(effects) == SLOWED
    assert effects[1:] == sorted(effects[1:], reverse=True)
    assert "value BM/36 of forwarding" in report_text(report)
