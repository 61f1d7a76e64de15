"""Named values of runs: one row an iteration, read by name as units are."""

import math

import pytest
import sqlalchemy as sa

from buildbot_bench.core.metric import Metric
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.schema import VALUE_NAMES, VALUES
from tests.fakes.database import sha

SPAN = {"series": ("apu", "forwarding"), "span": (1, 9)}
MEAN = "ns (2 values #abcdef)"


def metric(name, *, unit="ns", higher=False):
    return Metric(name=name, unit=unit, higher_is_better=higher)


def times(**values):
    return {metric(name): value for name, value in values.items()}


@pytest.fixture
def measure(store, an_image, a_probe):
    """Measures the revision at a position: named values, or a failure."""

    async def run(position, *results, image=None, **probe_columns):
        image = image or await an_image(position)
        probe = await a_probe(image, name=f"{image.id}:{probe_columns}", **probe_columns)
        for ordinal, named in enumerate(results):
            failed = isinstance(named, str)
            await store.add_iteration(
                probe=probe, ordinal=ordinal, unit="" if failed else MEAN,
                value=None if failed else 5.0, failure=named if failed else None,
                at_s=10.0 + ordinal, duration_s=1.0,
            )  # fmt: skip
            if not failed and named:
                assert await store.add_values(probe=probe, ordinal=ordinal, named=named)
                assert not await store.add_values(probe=probe, ordinal=ordinal, named=named)
        return probe

    return run


async def test_a_value_is_read_by_its_name_as_a_unit_is(store, measure):
    await measure(2, times(a=1.0, b=2.0), "it broke", times(b=4.0, c=5.0))
    await measure(3, times(a=3.0, b=6.0), tunables="x=1")
    (sample,) = await store.samples(**SPAN, unit="b")
    assert [(one.value, one.failure) for one in sample.iterations] == [
        (2.0, None),
        (None, "it broke"),
        (4.0, None),
    ]
    assert sample.metric == Metric(name="value b", unit="ns", higher_is_better=False)
    assert (sample.position, sample.epoch) == (2, "2026")
    (primary,) = await store.samples(**SPAN)
    assert (primary.values, primary.metric.unit) == ((5.0, 5.0), MEAN)
    assert await store.metric_of(SPAN["series"], "b") == sample.metric
    assert sorted(await store.value_names("apu", "forwarding")) == ["a", "b", "c"]
    assert await store.value_names("apu", "other") == []


async def test_a_boot_without_the_value_says_so(store, measure):
    await measure(2, times(a=1.0), times(a=0.0), times(a=math.nan), times(b=1.0), None)
    (sample,) = await store.samples(**SPAN, unit="a")
    assert sample.values == (1.0,)
    assert {one.failure for one in sample.iterations} == {None, "it gives no value a above 0"}
    assert len(sample.iterations) == 5


async def test_values_of_another_unit_or_direction_are_not_mixed(store, measure):
    await measure(2, {metric("a", unit="ms"): 7.0})
    await measure(3, {metric("a"): 8.0})
    found = await store.samples(**SPAN, unit="a")
    assert [sample.values for sample in found] == [(), (8.0,)]


async def test_points_of_a_value_are_those_of_a_unit(store, an_image, measure):
    await store.add_commits("main", [NewCommit(sha=sha(n), position=n) for n in (2, 3)])
    await measure(2, times(a=1.0), times(a=3.0))
    await measure(2, times(a=8.0), image=await an_image(2, ordinal=1))
    await measure(2, times(a=9.0), epoch="2027")
    await measure(3, times(b=9.0))
    found = await store.points(SPAN["series"], "main", "a")
    assert [(p.position, p.epoch, p.boots, p.mean, p.low, p.high) for p in found] == [
        (2, "2026", 3, 4.0, 1.0, 8.0),
        (2, "2027", 1, 9.0, 9.0, 9.0),
    ]


async def test_the_iterations_of_a_probe_are_shown_in_a_value(store, measure):
    probe = await measure(2, times(a=1.0, b=2.0), "it broke")
    rows = await store.iterations_of_probe(probe.id, "b")
    assert [(row.value, row.unit, row.failure) for row in rows] == [
        (2.0, "ns", None),
        (None, "ns", "it broke"),
    ]
    assert [row.value for row in await store.iterations_of_probe(probe.id, "c")] == [5.0, None]


async def test_a_thousand_values_of_a_boot_take_little_room(store, engine, measure):
    named = {metric(f"BM_{n}/{n * 64}"): math.pi * 1.1**n for n in range(1000)}
    named = {one: value % 1e9 for one, value in named.items()}
    boots = 50
    await measure(2, *[named] * boots)
    with engine.connect() as conn:
        (lists,) = conn.execute(sa.select(sa.func.count()).select_from(VALUE_NAMES)).one()
        assert lists == 1
        if engine.dialect.name == "postgresql":
            size = conn.execute(
                sa.select(sa.func.pg_total_relation_size(sa.text(f"'{VALUES.name}'::regclass")))
            ).scalar()
        else:
            tables = [VALUES.name, f"sqlite_autoindex_{VALUES.name}_1"]
            size = conn.execute(
                sa.text("SELECT sum(pgsize) FROM dbstat WHERE name IN (:a, :b)"),
                dict(zip("ab", tables, strict=True)),
            ).scalar()
    assert size <= 20 * 1000 * boots
