"""Iterations as samples: of plain revisions, in the order of the history, epochs apart."""

import pytest

from buildbot_bench.core.sample import PACKETS_PER_CPU_SECOND, PPS, Iteration
from buildbot_bench.plugin.db.rows import NewCommit
from tests.fakes.database import iterated, sha

SPAN = {"series": ("apu", "forwarding"), "span": (1, 9)}
FAILED = "link down"


@pytest.fixture
def measure(store, an_image, a_probe):
    """Measures an image: numbers are values in pps, a text is a failure."""

    async def run(position, *results, image=None, unit="pps", **probe_columns):
        image = image or await an_image(position)
        probe = await a_probe(image, name=f"{image.id}:{probe_columns}:{unit}", **probe_columns)
        for ordinal, result in enumerate(results):
            await iterated(store, probe, result, at_s=10.0 + ordinal, ordinal=ordinal, unit=unit)
        return probe

    return run


async def test_samples_come_in_the_order_of_positions_and_images(store, an_image, measure):
    await measure(3, 30.0, 31.0)
    await measure(2, 21.0, image=await an_image(2, ordinal=1))
    await measure(2, 20.0)
    await measure(10, 100.0)
    found = await store.samples(**SPAN)
    assert [(s.position, s.image, s.values) for s in found] == [
        (2, 0, (20.0,)),
        (2, 1, (21.0,)),
        (3, 0, (30.0, 31.0)),
    ]
    assert (found[0].label, found[0].metric, found[0].epoch) == ("n2", PPS, "2026")


async def test_iterations_of_all_probes_come_in_the_order_of_time(store, a_probe, an_image):
    image = await an_image(2)
    for key, at_s in [("late", 20.0), ("early", 10.0)]:
        await iterated(store, await a_probe(image, name=key), at_s, at_s=at_s)
    (sample,) = await store.samples(**SPAN)
    assert sample.values == (10.0, 20.0)


async def test_a_failure_belongs_to_the_sample(store, measure):
    await measure(2, 20.0, FAILED, 22.0)
    (sample,) = await store.samples(**SPAN)
    assert sample.iterations[1] == Iteration(value=None, at_s=11.0, failure=FAILED)
    assert sample.values == (20.0, 22.0)


async def test_an_image_that_always_failed_has_a_sample_without_values(store, measure):
    await measure(2, FAILED, FAILED)
    await measure(3, 5.0, unit="packets/CPU-s")
    empty, full = await store.samples(**SPAN)
    assert (empty.values, len(empty.iterations)) == ((), 2)
    assert empty.metric == full.metric == PACKETS_PER_CPU_SECOND


async def test_a_failure_counts_in_every_unit(store, measure):
    await measure(2, FAILED)
    (sample,) = await store.samples(**SPAN, unit="packets/CPU-s")
    assert (sample.metric, len(sample.iterations)) == (PACKETS_PER_CPU_SECOND, 1)


async def test_the_primary_unit_is_given_unless_another_is_asked_for(store, measure):
    probe = await measure(2, 20.0)
    await iterated(store, probe, 2.0, at_s=10.0, unit="packets/CPU-s")
    (primary,) = await store.samples(**SPAN)
    (other,) = await store.samples(**SPAN, unit="packets/CPU-s")
    assert (primary.values, other.values) == ((20.0,), (2.0,))


async def test_two_epochs_are_two_samples(store, measure):
    await measure(2, 20.0, epoch="2025")
    await measure(2, 10.0, epoch="2026")
    assert [s.epoch for s in await store.samples(**SPAN)] == ["2025", "2026"]
    (only,) = await store.samples(**SPAN, epoch="2026")
    assert only.values == (10.0,)


async def test_other_testbeds_and_workloads_are_left_out(store, measure):
    await measure(2, 20.0, testbed="xeon")
    await measure(2, 30.0, workload="pf-statefull")
    assert await store.samples(**SPAN) == []


async def test_a_span_of_a_branch_leaves_out_what_a_rewrite_left(store, an_image, measure):
    await store.add_commits("main", [NewCommit(sha=sha(2), position=2)])
    await measure(2, 20.0)
    await measure(2, 99.0, image=await an_image(2, sha=sha(77)))
    assert [s.values for s in await store.samples(**SPAN, branch="main")] == [(20.0,)]


async def test_patched_variants_are_no_history_but_can_be_asked_for(store, an_image, measure):
    patched = await an_image(2, variant=f"{sha(2)}+D8526")
    await measure(2, 20.0, image=patched)
    assert await store.samples(**SPAN) == []
    on = {"series": ("apu", "forwarding")}
    (sample,) = await store.samples_of_images(image_ids=[patched.id], **on)
    assert sample.values == (20.0,)


async def test_an_unknown_unit_is_its_own_metric(store, measure):
    await measure(2, 20.0, unit="frames")
    (sample,) = await store.samples(**SPAN)
    assert (sample.metric.name, sample.metric.unit) == ("frames", "frames")
