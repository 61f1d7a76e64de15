"""Iterations: each kept the moment it ends, and only once."""

from __future__ import annotations

import math

import pytest

from buildbot_bench.core.errors import InfraError

RESULT = {"ordinal": 0, "unit": "pps", "value": 1e6, "failure": None, "at_s": 9.0, "duration_s": 30}
NOTHING = {"unit": "", "value": None, "failure": "0 pps for the whole run"}


async def test_an_iteration_that_is_read_again_is_not_kept_twice(store, a_probe):
    probe = await a_probe()
    assert await store.add_iteration(probe=probe, **RESULT, log="rx", facts={"host": "lab"})
    assert not await store.add_iteration(probe=probe, **RESULT | {"value": 2e6})
    (kept,) = await store.iterations_of_probe(probe.id)
    assert (kept.value, kept.log, kept.facts) == (1e6, "rx", {"host": "lab"})


async def test_an_iteration_knows_where_it_was_measured(store, a_probe):
    probe = await a_probe()
    await store.add_iteration(probe=probe, **RESULT)
    (kept,) = await store.iterations_of_probe(probe.id)
    assert (kept.image_id, kept.testbed, kept.workload, kept.epoch) == (
        probe.image_id,
        "apu",
        "forwarding",
        "2026",
    )


async def test_the_newest_of_each_series_is_told_where_there_is_news(store, a_probe):
    here, there = await a_probe(), await a_probe(key="there", token="t", workload="pf-statefull")
    assert await store.newest_iterations(0) == {}
    await store.add_iteration(probe=here, **RESULT)
    await store.add_iteration(probe=here, **RESULT | {"ordinal": 1})
    first = (await store.newest_iterations(0))["apu", "forwarding"]
    await store.add_iteration(probe=there, **RESULT)
    assert (await store.newest_iterations(0)).keys() == {
        ("apu", "forwarding"),
        ("apu", "pf-statefull"),
    }
    assert (await store.newest_iterations(first)).keys() == {("apu", "pf-statefull")}
    assert (await store.newest_iterations(first - 1))["apu", "forwarding"] == first


async def test_the_unit_that_the_lab_names_first_is_primary(store, a_probe):
    probe = await a_probe()
    for unit in ("pps", "packets/CPU-s", "pps"):
        await store.add_iteration(probe=probe, **RESULT | {"unit": unit})
    kept = await store.iterations_of_probe(probe.id)
    assert [(row.unit, row.is_primary) for row in kept] == [
        ("pps", True),
        ("packets/CPU-s", False),
    ]


async def test_a_failure_is_a_row_with_a_reason(store, a_probe):
    probe = await a_probe()
    assert await store.add_iteration(probe=probe, **RESULT | NOTHING)
    (kept,) = await store.iterations_of_probe(probe.id)
    assert (kept.value, kept.failure) == (None, "0 pps for the whole run")


@pytest.mark.parametrize("value", [math.nan, math.inf])
async def test_what_is_no_number_is_no_measurement(store, a_probe, value):
    probe = await a_probe()
    with pytest.raises(InfraError, match="no measurement"):
        await store.add_iteration(probe=probe, **RESULT | {"value": value})
    assert await store.iterations_of_probe(probe.id) == []


async def test_a_result_without_value_needs_a_reason(store, a_probe):
    with pytest.raises(InfraError, match="neither value nor failure"):
        await store.add_iteration(probe=await a_probe(), **RESULT | {"value": None})


async def test_a_log_may_hold_anything(store, a_probe):
    probe = await a_probe()
    await store.add_iteration(probe=probe, **RESULT, log="panic\0\x1b[31m\udcff")
    (kept,) = await store.iterations_of_probe(probe.id)
    assert kept.log == "panic\ufffd\x1b[31m\ufffd"
