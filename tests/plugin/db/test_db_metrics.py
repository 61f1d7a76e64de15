"""A unit of a lab's own is kept with its direction, and read wherever values are."""

import pytest

from buildbot_bench.core.metric import INSTRUCTIONS_PER_PACKET, Metric, NoiseClass
from tests.fakes.database import iterated

SERIES = {"testbed": "runner", "workload": "compress"}
NAME = ("runner", "compress")
SECONDS = Metric(name="time", unit="s", higher_is_better=False)


async def test_what_a_lab_says_last_of_a_unit_holds(store):
    assert await store.metric_of(NAME, "s") == Metric(name="s", unit="s")
    assert await store.direction_of(NAME) is None
    await store.keep_metric(**SERIES, metric=SECONDS)
    assert await store.metric_of(NAME, "s") == SECONDS
    assert await store.direction_of(NAME) is False
    assert await store.direction_of(NAME, "MB/s") is None
    exact = Metric(name="count", unit="s", noise=NoiseClass.EXACT)
    await store.keep_metric(**SERIES, metric=exact)
    assert await store.metric_of(NAME, "s") == exact
    assert (await store.metric_of(("runner", "expand"), "s")).higher_is_better


async def test_a_known_unit_means_what_it_always_did(store):
    wrong = Metric(name="x", unit="instructions/packet")
    await store.keep_metric(**SERIES, metric=wrong)
    assert await store.metric_of(NAME, wrong.unit) == INSTRUCTIONS_PER_PACKET


async def test_samples_have_the_metric_of_their_series(store, a_probe):
    await iterated(store, await a_probe(**SERIES), 2.0, at_s=1.0, unit="s")
    await store.keep_metric(**SERIES, metric=SECONDS)
    (sample,) = await store.samples(NAME, (0, 99))
    assert sample.metric == SECONDS


@pytest.mark.parametrize("unit", ["s", ""])
async def test_a_search_that_was_asked_for_before_anything_was_measured_learns_it(
    store, a_search, unit
):
    row = await a_search(unit=unit, **SERIES)
    other = await a_search(unit="MB/s", key="alarm:2", **SERIES)
    assert row.makes_worse(-0.1)
    await store.keep_metric(**SERIES, metric=SECONDS)
    known, unknown = await store.search(row.id), await store.search(other.id)
    assert known.makes_worse(0.1)
    assert not known.makes_worse(-0.1)
    assert unknown.makes_worse(-0.1)
