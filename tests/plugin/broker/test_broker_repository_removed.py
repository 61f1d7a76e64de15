"""A repository is taken out of bench.yml: what was asked of it ends, what was measured stays."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from buildbot_bench.api.requests import ComparisonQuestion, MoreBoots
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.db.columns import OPEN_PROBES, OPEN_PROFILES
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.history import series_list
from buildbot_bench.plugin.queries.searches import SearchViews
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.requests.marks import MarkRequests
from buildbot_bench.plugin.requests.search_requests import measure_more
from tests.fakes.past import Past, boots
from tests.fakes.removed import level, worked
from tests.gitrepo import add_commits, numbered

WHY = "repository fork is no longer in bench.yml"
DROP = Step(old=5, new=6, effect=-0.2, low=-0.21, high=-0.19, probability=0.999)
FOUND = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="each step is located")


@dataclass(frozen=True, kw_only=True)
class Lived:
    """A farm of two repositories with the same commits; `past` is of the one that goes."""

    farm: Farm
    cycle: Cycle
    past: Past
    fork: Path
    remove: Callable[[], None]
    put_back: Callable[[], None]

    async def asked(self) -> set[str]:
        """What is still wanted of the fork."""
        store, found = self.farm.store, set()
        for probe in await store.probes():
            image = await store.image(probe.image_id)
            if image.repository == "fork" and probe.state in OPEN_PROBES:
                found.add(f"probe {probe.id} of {probe.reason}")
        for image in await store.images():
            if image.repository == "fork" and image.state in {"wanted", "building"}:
                found.add(f"image {image.label}")
        for row in [row for state in OPEN_PROFILES for row in await store.profiles(state=state)]:
            image = await store.image(row.image_id)
            if image.repository == "fork":
                found.add(f"capture {row.id}")
        return found


@pytest.fixture
def lived(make_farm, master, published, tmp_path, errors) -> Lived:
    source, _, shas = published
    fork = shutil.copytree(source, tmp_path / "fork")
    entries = f"repositories: {{src: {{url: {source}}}, fork: {{url: {fork}}}}}"
    farm = make_farm((f"repository: {source}", entries))
    both, alone = farm.workflow, make_farm().workflow
    master.service_manager.namedServices["bench"].farm = farm

    def go_by(workflow) -> Callable[[], None]:
        def use() -> None:
            farm.use(workflow)
            farm.mirroring.taken_as_it_is()

        return use

    return Lived(
        farm=farm,
        cycle=Cycle(farm=farm, scheduler=master),
        past=Past(farm, shas, branch="fork:main"),
        fork=fork,
        remove=go_by(alone),
        put_back=go_by(both),
    )


async def measured(past: Past, *positions: int, judged_to: int) -> None:
    await past.farm.mirroring.refresh()
    await past.commits(*range(1, max(positions) + 1))
    for position in positions:
        values = boots(level(position), series=position)
        await past.measured(
            position,
            values,
            judged=position <= judged_to,
            brid=900 + position,
            ended_at=past.farm.now(),
        )


async def test_a_suspicion_is_followed_no_more(lived):
    await measured(lived.past, *range(1, 8), judged_to=6)
    await lived.cycle.run()
    (row,) = await lived.farm.store.judgements(state="suspicion")
    assert await lived.asked()
    lived.remove()
    await lived.cycle.run()
    ended = await lived.farm.store.judgement(row.id)
    assert (ended.state, ended.verdict.reason) == ("unfit", WHY)
    assert await lived.asked() == set()


async def test_what_was_measured_last_is_judged_and_starts_nothing(lived):
    await measured(lived.past, *range(1, 8), judged_to=6)
    lived.remove()
    await worked(lived.cycle, lived.past)
    (row,) = await lived.farm.store.judgements()
    assert (row.state, row.verdict.reason) == ("unfit", WHY)
    assert await lived.farm.store.searches() == []
    assert {probe.reason for probe in await lived.farm.store.probes()} == {"commit"}


async def test_the_rest_of_an_incident_is_not_confirmed(lived):
    await measured(lived.past, *range(1, 12), judged_to=11)
    search = await lived.past.answered(FOUND)
    await lived.past.joined(search.id, "ipfw")
    lived.remove()
    await worked(lived.cycle, lived.past)
    (ended,) = await lived.farm.store.series_of_incident(search.id)
    assert (ended.standing, ended.reason) == ("unclear", WHY)
    assert {probe.reason for probe in await lived.farm.store.probes()} == {"commit"}


async def test_a_search_is_read_and_nothing_of_it_is_measured_again(lived):
    await measured(lived.past, *range(1, 12), judged_to=11)
    search = await lived.past.answered(FOUND)
    lived.remove()
    await worked(lived.cycle, lived.past)
    shown = await SearchViews(lived.farm).describe(search.id)
    assert shown["state"] == "found"
    assert shown["report"]["headline"]["new"]["label"].endswith("r7")


async def test_a_workload_that_broke_is_not_tried_with_its_kernels(lived):
    await measured(lived.past, *range(1, 6), judged_to=5)
    for position in (6, 7):
        await lived.past.probe(
            position,
            state="done",
            failure="panic",
            failure_kind=FailureKind.UNTESTABLE,
            brid=900 + position,
            ended_at=lived.farm.now(),
        )
    lived.remove()
    for _ in range(3):
        await lived.cycle.run()
    tried = [probe for probe in await lived.farm.store.probes() if probe.reason == "workload"]
    assert tried == []


async def test_it_goes_on_where_it_was_when_it_is_put_back(lived):
    await measured(lived.past, *range(1, 6), judged_to=5)
    lived.remove()
    await worked(lived.cycle, lived.past)
    add_commits(lived.fork, numbered(21, 21))
    (gone,) = [one for one in await series_list(lived.farm) if one["branch"] == "fork:main"]
    assert gone["gone"] == WHY
    lived.put_back()
    await lived.cycle.fetch()
    await CommitQueue(lived.farm).advance()
    while not await lived.asked():  # the other repository's tip comes first
        for probe in await lived.farm.store.open_probes():
            await lived.farm.store.change(probe, state="done", ended_at=lived.farm.now())
        await CommitQueue(lived.farm).advance()
    assert await lived.asked() == {"image r21", "probe 7 of commit"}
    assert "gone" not in (await series_list(lived.farm))[-1]


async def test_nobody_can_ask_for_more_of_it(lived):
    await measured(lived.past, *range(1, 12), judged_to=11)
    search = await lived.past.answered(FOUND)
    judgement = await lived.past.judgement(6, 7)
    lived.remove()
    marks = MarkRequests(lived.farm)
    with pytest.raises(UsageError, match=WHY):
        await marks.mark_search(search.id, "again", author="ann", fixed_by="")
    with pytest.raises(UsageError, match=WHY):
        await marks.mark_verdict(judgement.id, "again", author="ann", fixed_by="")
    with pytest.raises(UsageError, match=WHY):
        await measure_more(lived.farm, search.id, MoreBoots(revision="n7", iterations=1))
    await marks.mark_search(search.id, "expected", author="ann", fixed_by="")
    await worked(lived.cycle, lived.past)
    assert await lived.asked() == set()


async def test_a_comparison_with_a_variant_of_it_ends_and_another_goes_on(lived):
    await lived.farm.mirroring.refresh()
    started = [
        await ComparisonRequests(lived.farm).start(
            ComparisonQuestion(variants=variants, images=1), "ann", trusted=True
        )
        for variants in (("n3", "fork:n4"), ("n3", "n4"))
    ]
    lived.remove()
    await lived.cycle.run()
    rows = [await lived.farm.store.ab_test(one["comparisonid"]) for one in started]
    assert [(row.state, row.detail or "") for row in rows] == [("cancelled", WHY), ("running", "")]


async def test_captures_of_its_kernels_are_taken_no_more(lived):
    await measured(lived.past, 6, 7, judged_to=7)
    row = await lived.farm.store.ensure_profile(
        key="k",
        token="job",
        image_id=(await lived.past.image(7)).id,
        testbed="apu",
        workload="forwarding",
        now=1.0,
    )
    lived.remove()
    await lived.cycle.run()
    ended = await lived.farm.store.profile(row.id)
    assert (ended.state, ended.failure) == ("failed", WHY)


async def test_a_look_that_goes_on_meanwhile_ends_without_an_error(lived, pool):
    class Meanwhile(BenchStore):
        async def branches(self):
            lived.remove()
            return await super().branches()

    lived.farm.store = Meanwhile(pool)
    await lived.farm.mirroring.refresh()
    await CommitWatch(lived.farm).advance()
    assert await lived.farm.store.newest_commit("fork:main") is None
    assert await lived.farm.store.newest_commit("main") is not None
