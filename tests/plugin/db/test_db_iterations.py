"""Iterations: each kept the moment it ends, and only once."""

import functools
import math
from random import Random

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.variant import LONGEST

RESULT = {"ordinal": 0, "unit": "pps", "value": 1e6, "failure": None, "at_s": 9.0, "duration_s": 30}
NOTHING = {"unit": "", "value": None, "failure": "0 pps for the whole run"}


def odd(length: int, first: str) -> str:
    """A text without a pattern, of characters from that one on."""
    draw = Random(length)
    return "".join(chr(ord(first) + draw.randrange(26)) for _ in range(length))


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
    here, there = await a_probe(), await a_probe(name="there", token="t", workload="pf-statefull")
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


async def test_the_newest_positions_are_those_of_commits_with_a_value(store, an_image, a_probe):
    for position, ordinal, value in ((7, 0, 1.0), (8, 0, 1.0), (8, 1, 1.0), (9, 0, None)):
        image = await an_image(sha=f"{position:040}", position=position, ordinal=ordinal)
        probe = await a_probe(image, name=f"p{image.id}", token=f"t{image.id}")
        failure = None if value else "no link"
        await store.add_iteration(probe=probe, **RESULT | {"value": value, "failure": failure})
    assert await store.newest_positions(("apu", "forwarding"), "main", 9) == [8, 7]
    assert await store.newest_positions(("apu", "forwarding"), "main", 1) == [8]
    assert await store.newest_positions(("apu", "pf-statefull"), "main", 9) == []
    last = functools.partial(store.newest_positions, ("apu", "forwarding"), "main", 1)
    assert await last(span=(7, 8)) == [7]
    assert await last(span=(0, 7)) == []
    epoch = await store.newest_epoch("apu")
    assert await last(like=("pps", epoch)) == [8]
    assert await last(like=("pps", "another")) == await last(like=("s", epoch)) == []


async def test_a_series_that_gave_a_value_is_known_for_ever(store, a_probe):
    await a_probe(name="asked", token="a", testbed="new")
    failed = await a_probe(name="failed", token="f", testbed="broken")
    await store.add_iteration(probe=failed, **RESULT | {"value": None, "failure": "no link"})
    tuned = await a_probe(name="tuned", token="t", testbed="tuned", tunables="net.x=1")
    await store.add_iteration(probe=tuned, **RESULT)
    for testbed, workload in (("b", "one"), ("a", "two"), ("a", "one")):
        probe = await a_probe(
            name=testbed + workload, token="x", testbed=testbed, workload=workload
        )
        await store.add_iteration(probe=probe, **RESULT)
    assert await store.measured_series() == [("a", "one"), ("a", "two"), ("b", "one")]


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


@pytest.mark.parametrize("value", [math.nan, math.inf, 1.7e308, -1e200, 5e-324])
async def test_what_is_no_number_is_no_measurement(store, a_probe, value):
    probe = await a_probe()
    with pytest.raises(InfraError, match="no measurement"):
        await store.add_iteration(probe=probe, **RESULT | {"value": value})
    assert await store.iterations_of_probe(probe.id) == []


@pytest.mark.parametrize("ordinal", [-1, 2**31, 2**63])
async def test_what_is_no_number_of_an_iteration_is_not_kept(store, a_probe, ordinal):
    with pytest.raises(InfraError, match="is no number of an iteration"):
        await store.add_iteration(probe=await a_probe(), **RESULT | {"ordinal": ordinal})


@pytest.mark.parametrize("name", ["at_s", "duration_s"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
async def test_what_is_no_time_is_not_kept(store, a_probe, name, value):
    probe = await a_probe()
    with pytest.raises(InfraError, match="no time"):
        await store.add_iteration(probe=probe, **RESULT | {name: value})
    assert await store.iterations_of_probe(probe.id) == []


async def test_values_as_large_and_as_small_as_any_add_up(store, a_probe):
    for position, value in enumerate((1e100, -1e100, 1e-100, 0.0), start=7):
        probe = await a_probe(name=f"k{position}")
        for ordinal in range(3):
            result = RESULT | {"ordinal": ordinal, "value": value}
            await store.add_iteration(probe=probe, **result)
    (point,) = await store.points(("apu", "forwarding"), "main")
    assert (type(point.boots), point.boots, type(point.mean)) == (int, 12, float)


async def test_what_is_too_long_for_an_index_is_refused_and_nothing_shorter(store, a_probe):
    """PostgreSQL compresses what repeats itself; these do not."""
    names = {"testbed": odd(50, "a"), "workload": odd(50, "a"), "tunables": odd(LONGEST, "a")}
    probe = await a_probe(**names, epoch=odd(200, "\U00020000"))
    assert await store.add_iteration(probe=probe, **RESULT | {"unit": odd(100, "\U00020000")})
    too_long = await a_probe(**names, name="k", epoch="e" * 201)
    with pytest.raises(InfraError, match=r"epoch 'e+.* is longer than 200 characters"):
        await store.add_iteration(probe=too_long, **RESULT)
    with pytest.raises(InfraError, match=r"unit 'u+.* is longer than 100 characters"):
        await store.add_iteration(probe=probe, **RESULT | {"unit": "u" * 101})


async def test_a_result_without_value_needs_a_reason(store, a_probe):
    with pytest.raises(InfraError, match="neither value nor failure"):
        await store.add_iteration(probe=await a_probe(), **RESULT | {"value": None})


async def test_a_log_may_hold_anything(store, a_probe):
    probe = await a_probe()
    await store.add_iteration(probe=probe, **RESULT, log="panic\0\x1b[31m\udcff")
    (kept,) = await store.iterations_of_probe(probe.id)
    assert kept.log == "panic\ufffd\x1b[31m\ufffd"
