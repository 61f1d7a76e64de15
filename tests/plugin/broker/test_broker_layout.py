"""Layout is told from code by images, by judge and search: the same objects in another order."""

from collections.abc import Callable

import pytest

from buildbot_bench.plugin.broker.follow_ups import MAX_ROUNDS
from buildbot_bench.plugin.broker.issue import NoOps
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.broker.searching import Searching
from tests.fakes.past import boots

HISTORY = range(1, 11)
NEW = 11
USUAL = 1e6
OFF = 0.97

Level = Callable[[int, int], float | None]
Kernel = Callable[[int, int], str]


def its_own(position: int, ordinal: int) -> str:
    """The digest of a kernel that is linked in an order of its own."""
    return f"{position:032x}{ordinal:032x}"


def alike(position: int, _ordinal: int) -> str:
    """The digest of a kernel that is linked in the same order each time."""
    return f"{position:064x}"


def usual(_position: int, _ordinal: int) -> float:
    """Nothing happens."""
    return USUAL


def unlucky(position: int, ordinal: int) -> float:
    """The first image of the new revision is 3 % slow, and no other one."""
    return USUAL * OFF if (position, ordinal) == (NEW, 0) else USUAL


def slower(position: int, _ordinal: int) -> float:
    """The new revision's code is 3 % slow, however it is linked."""
    return USUAL * OFF if position >= NEW else USUAL


class Lab:
    """Builds and measures what is asked for; `level` of (position, image), None: does not boot."""

    def __init__(self, past, level: Level, kernel: Kernel) -> None:
        self.past, self.level, self.kernel = past, level, kernel
        self.store = past.farm.store
        self.booted: list[tuple[int, int]] = []

    async def answers(self) -> bool:
        """Whether anything was asked for."""
        for image in await self.store.images("wanted"):
            digest = f"{image.id:064x}"
            told = {
                "digest": digest,
                "kernel_digest": self.kernel(image.position, image.ordinal),
                "size": 9,
            }
            await self.store.change(image, changed_at=1.0, state="built", **told)
        asked = await self.store.probes(state="new")
        for probe in asked:
            image = await self.store.image(probe.image_id)
            if not await NoOps(self.past.farm).spares(probe, image):
                await self._boot(probe, image)
        return bool(asked)

    async def _boot(self, probe, image) -> None:
        self.booted.append((image.position, image.ordinal))
        value = self.level(image.position, image.ordinal)
        if value is None:
            await self.store.change(image, changed_at=1.0, state="untestable", reason="panic")
            failed = {"failure": "panic", "failure_kind": "untestable"}
            await self.store.change(probe, state="done", **failed)
            return
        for ordinal, one in enumerate(boots(value, probe.iterations, series=probe.id)):
            await self.past.add(probe, ordinal, one)
        await self.store.change(probe, state="done", ended_at=self.past.farm.now())


@pytest.fixture
def judged(farm, past):
    """Lives through ten calm revisions and a new one; says the verdict on it, and the lab."""

    async def run(level: Level, kernel: Kernel = its_own):
        await past.commits(*HISTORY, NEW)
        for position in (*HISTORY, NEW):
            image = await past.image(position, kernel_digest=kernel(position, 0))
            values = boots(level(position, 0), series=position)
            await past.measured(image, values, judged=position in HISTORY)
        lab, judging = Lab(past, level, kernel), Judging(farm)
        for _ in range(MAX_ROUNDS + 2):
            await judging.advance()
            if not await lab.answers():
                break
        rows = await farm.store.judgements()
        (row,) = [row for row in rows if row.new_position == NEW and row.unit]
        return row, lab

    return run


async def test_three_percent_of_one_image_are_called_layout(judged, farm):
    row, lab = await judged(unlucky)
    assert row.state == "nothing"
    assert "is the layout of one image, not the code" in row.verdict.reason
    assert {ordinal for position, ordinal in lab.booted if position == NEW} == {1, 2}
    assert await farm.store.searches() == []


async def test_three_percent_of_all_images_are_called_real(judged, farm):
    row, lab = await judged(slower)
    assert row.state == "regression"
    assert row.low < OFF - 1 < row.high
    assert (NEW, 1) in lab.booted
    assert len(await farm.store.searches()) == 1


async def test_an_order_that_does_not_boot_is_another_ones_turn(judged, farm):
    def first_order_panics(position: int, ordinal: int) -> float | None:
        return None if ordinal == 1 else unlucky(position, ordinal)

    row, lab = await judged(first_order_panics)
    assert row.state == "nothing"
    assert "layout" in row.verdict.reason
    assert {ordinal for position, ordinal in lab.booted if position == NEW} == {1, 2, 3}
    images = await farm.store.all_images_between(NEW, NEW, "")
    states = {image.ordinal: image.state for image in images}
    assert (states[0], states[1]) == ("built", "untestable")


async def test_where_no_order_boots_the_first_image_speaks_for_the_code(judged):
    def all_orders_panic(position: int, ordinal: int) -> float | None:
        return None if ordinal else slower(position, ordinal)

    row, lab = await judged(all_orders_panic)
    assert row.state == "regression"
    assert {ordinal for position, ordinal in lab.booted if position == NEW} == {0, 1, 2, 3}


async def test_a_job_that_links_each_image_alike_costs_no_boots_for_it(judged):
    row, lab = await judged(slower, kernel=alike)
    assert row.state == "regression"
    assert {ordinal for position, ordinal in lab.booted if position == NEW} == {0}


@pytest.fixture
def searched(farm, past):
    """A person's search up to the new revision; by default images of history hardly differ."""

    async def run(level: Level, kernel: Kernel = its_own, history: Level = usual):
        await past.commits(*HISTORY, NEW)
        for position in HISTORY:
            image = await past.image(position, kernel_digest=kernel(position, 0))
            values = boots(history(position, 0), series=position)
            await past.measured(image, values, judged=True)
        search = await past.search(5, NEW)
        lab, searching = Lab(past, level, kernel), Searching(farm)
        for _ in range(120):
            await searching.advance()
            if not await lab.answers():
                return await farm.store.search(search.id), lab
        raise AssertionError("the search asks for ever")

    return run


async def test_a_search_names_no_culprit_for_the_layout_of_one_image(searched):
    search, lab = await searched(unlucky)
    assert search.state == "not-reproduced"
    assert (NEW, 1) in lab.booted


async def test_a_search_names_the_culprit_that_is_slow_in_every_order(searched):
    search, lab = await searched(slower)
    assert search.state == "found"
    (step,) = search.answer.steps
    assert (step.old, step.new) == (NEW - 6, NEW - 5)  # from r5
    assert (NEW, 1) in lab.booted


async def test_a_search_boots_no_image_that_is_its_first_one_again(searched, farm):
    scatter = (0.99, 1.012, 1.0, 0.988, 1.011, 0.992, 1.008, 1.004, 0.99, 1.01, 0.996)

    def by_commit(position: int, _ordinal: int) -> float:
        return scatter[position - 1] * (slower(NEW, 0) if position >= NEW - 2 else USUAL)

    search, lab = await searched(by_commit, kernel=alike, history=by_commit)
    assert {ordinal for _, ordinal in lab.booted} == {0}
    (again,) = [image for image in await farm.store.images() if image.ordinal]
    (spared,) = await farm.store.probes_of([again.id], (search.testbed, search.workload))
    assert spared.reason == "search"
    assert "is its first one again: the job 'kernel' cannot relink" in spared.failure
    assert search.state == "inconclusive"
    assert len(lab.booted) <= 10


async def test_what_the_only_image_shows_is_suspected_not_found(searched):
    search, lab = await searched(slower, kernel=alike)
    assert search.state == "inconclusive"
    assert search.answer.reproduced
    assert not any(step.separated for step in search.answer.steps)
    assert {ordinal for _, ordinal in lab.booted} == {0}
