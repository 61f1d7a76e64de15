"""Patches are kept once, comparisons compare and swap, tunables stay out of plain samples."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from buildbot_bench.plugin.db.ab_test_rows import AbTestRow, AbTestVariant, NewAbTest
from tests.fakes.database import iterated

SPAN = {"series": ("apu", "forwarding"), "span": (0, 99)}


@pytest.fixture
def an_ab_test(store, an_image) -> Callable[..., Awaitable[AbTestRow]]:
    async def make(**columns) -> AbTestRow:
        base = await an_image(7)
        new = await an_image(7, variant=f"{base.sha}+options:VIMAGE", label="n7+VIMAGE")
        values = {
            "variants": (
                AbTestVariant(image_id=base.id, tunables="", variant="n7", label="n7"),
                AbTestVariant(image_id=new.id, tunables="", variant="n7+VIMAGE", label="IFLIB"),
            ),
            "series": [("apu", "forwarding")],
            "iterations": 5,
            "confidence": 95.0,
            "min_effect": 0.02,
            "requester": "ann",
        }
        return await store.add_ab_test(NewAbTest(**values | columns), now=4.0)

    return make


async def measure(store, probe, ordinal: int = 0, value: float = 5e5, at_s: float = 10.0) -> None:
    await iterated(store, probe, value, at_s=at_s + ordinal, ordinal=ordinal)


async def test_a_patch_is_kept_once_with_all_its_bytes(store):
    body = b"--- a\r\n+++ b\0\xff\n"
    first = await store.add_patch(body=body, origin="D8526", requester="ann", now=1.0)
    again = await store.add_patch(body=body, origin="my.patch", requester="bob", now=2.0)
    assert again == first
    assert first.digest == hashlib.sha256(body).hexdigest()
    assert (await store.patch(first.digest)).body == body
    assert await store.patch("0" * 64) is None


async def test_a_comparison_is_what_was_asked_for(store, an_ab_test):
    ab_test = await an_ab_test()
    assert (ab_test.state, ab_test.ended) == ("running", False)
    assert await store.ab_test(ab_test.id) == ab_test
    assert [list(series) for series in ab_test.series] == [["apu", "forwarding"]]


async def test_of_two_that_change_a_comparison_one_is_told_that_it_was_late(store, an_ab_test):
    ab_test = await an_ab_test()
    done = await store.change_ab_test(ab_test, state="done", ended_at=5.0)
    assert done.ended
    assert await store.change_ab_test(ab_test, state="cancelling") is None
    assert [row.id for row in await store.ab_tests(["running"])] == []
    assert [row.id for row in await store.ab_tests()] == [ab_test.id]


async def test_a_comparison_that_is_extended_keeps_the_order_of_its_variants(store, an_ab_test):
    ab_test = await an_ab_test()
    third = replace(ab_test.variants[1], tunables="a.b=1", label="tuned")
    extended = await store.change_ab_test(ab_test, more=[third], iterations=10)
    assert extended.variants == (*ab_test.variants, third)
    assert extended.iterations == 10
    assert await store.ab_test(ab_test.id) == extended
    assert await store.change_ab_test(ab_test, more=[third]) is None
    assert (await store.ab_test(ab_test.id)).variants == extended.variants


async def test_the_epoch_of_a_testbed_is_that_of_its_newest_value(store, a_probe):
    assert await store.newest_epoch("apu") is None
    await measure(store, await a_probe(name="first", epoch="1"))
    await measure(store, await a_probe(name="second", epoch="2"))
    await a_probe(name="asked for", epoch="")
    imported = await a_probe(name="imported", epoch="2016")
    await measure(store, imported, value=4e5, at_s=1.0)
    assert await store.newest_epoch("apu") == "2"
    assert await store.newest_epoch("other") is None


async def test_the_iterations_of_a_comparison_come_in_the_order_measured(
    store, an_ab_test, a_probe
):
    ab_test = await an_ab_test()
    first = await a_probe(name="comparison:1", ab_test_id=ab_test.id)
    other = await a_probe(name="commit")
    for ordinal, value in enumerate((3.0, 1.0)):
        await measure(store, first, ordinal, value)
    await measure(store, other)
    assert [row.value for row in await store.iterations_of_ab_test(ab_test.id)] == [3.0, 1.0]
    assert [row.id for row in await store.probes_of_ab_test(ab_test.id)] == [first.id]


async def test_what_was_measured_with_a_tunable_is_no_sample_of_the_plain_kernel(
    store, an_image, a_probe
):
    image = await an_image(7)
    await measure(store, await a_probe(image, name="plain"), value=5e5)
    await measure(store, await a_probe(image, name="tuned", tunables="net.x=1"), value=9e5)
    (sample,) = await store.samples(**SPAN)
    assert sample.values == (5e5,)
    (sample,) = await store.samples_of_images(("apu", "forwarding"), [image.id])
    assert sample.values == (5e5,)
