"""Leases: one holder at a time by the database's clock, and nothing changes under a lost one."""

from functools import partial

import pytest
import sqlalchemy as sa

from buildbot_bench.plugin.db.leases import BROKER, IDLE_MS, LeaseLostError, must_hold
from buildbot_bench.plugin.db.sql import take_write_lock
from buildbot_bench.plugin.db.store import BenchStore
from tests.fakes.database import DirectPool

FIRST, SECOND = 1, 2
RUN_OUT = "UPDATE bench_lease SET expires_at = 5"


async def taken(store: BenchStore, token: str, masterid: int = FIRST, **asked) -> bool:
    return await store.take_lease(BROKER, token=token, masterid=masterid, hold_s=60.0, **asked)


def change(engine: sa.Engine, statement: str) -> None:
    with engine.begin() as conn:
        take_write_lock(conn)
        conn.execute(sa.text(statement))


async def test_one_of_two_masters_has_it_until_it_runs_out(store, engine):
    assert await taken(store, "a")
    assert not await taken(store, "b", SECOND)
    assert await store.renew_lease(BROKER, token="a", hold_s=60.0, trouble="no router")
    assert [(row.token, row.trouble) for row in await store.leases()] == [("a", "no router")]
    change(engine, RUN_OUT)
    assert await store.leases() == []
    assert not await taken(store, "b", SECOND, seize=False)
    assert await store.renew_lease(BROKER, token="a", hold_s=0.0), "nobody took it meanwhile"
    change(engine, RUN_OUT)
    assert await taken(store, "b", SECOND)
    assert not await store.renew_lease(BROKER, token="a", hold_s=60.0)
    await store.drop_lease(BROKER, token="a")
    assert [row.masterid for row in await store.leases()] == [SECOND]
    await store.drop_lease(BROKER, token="b")
    assert await taken(store, "a", seize=False)


async def test_a_master_that_is_started_again_takes_what_its_dead_process_had(store):
    assert await taken(store, "before")
    assert await taken(store, "after", seize=False)
    assert not await store.renew_lease(BROKER, token="before", hold_s=60.0)


async def test_who_has_lost_the_lease_changes_nothing(store, engine, a_probe):
    probe = await a_probe()
    broker = store.guarded(partial(must_hold, name=BROKER, token="a"))
    assert await taken(store, "a")
    await broker.confirm()
    probe = await broker.change(probe, failure="first")
    change(engine, RUN_OUT)
    assert await taken(store, "b", SECOND)
    with pytest.raises(LeaseLostError, match="another master has taken the lease 'broker'"):
        await broker.change(probe, failure="second")
    with pytest.raises(LeaseLostError):
        await broker.confirm()
    assert (await broker.probe(probe.id)).failure == "first"
    assert await store.change(probe, failure="by a step") is not None


async def test_the_lease_stays_while_a_change_under_it_goes_on_but_not_for_ever(store, engine):
    if engine.dialect.name == "sqlite":
        return  # a transaction that writes has the file to itself
    assert await taken(store, "a")
    change(engine, RUN_OUT)
    with engine.connect() as conn, conn.begin():
        must_hold(conn, BROKER, token="a")
        assert not await taken(store, "b", SECOND), "it waits for nobody, and comes again"
        limit = conn.execute(sa.text("SHOW idle_in_transaction_session_timeout")).scalar_one()
        assert limit == f"{IDLE_MS // 1000}s"
    assert await taken(store, "b", SECOND)
    with engine.connect() as conn:
        shown = conn.execute(sa.text("SHOW idle_in_transaction_session_timeout")).scalar_one()
        assert shown == "0", "a connection of the pool keeps nothing of it"


TABLES = (
    "CREATE TABLE buildrequests (id integer, complete integer)",
    "CREATE TABLE buildrequest_claims (brid integer, masterid integer)",
    "CREATE TABLE builds (masterid integer, complete_at integer)",
    "CREATE TABLE masters (id integer, active integer)",
    "CREATE TABLE connected_workers (masterid integer)",
    "INSERT INTO buildrequests VALUES (10, 0), (11, 1), (12, 0), (13, 0)",
    "INSERT INTO buildrequest_claims VALUES (10, 1), (11, 1), (12, 2), (13, 1)",
    "INSERT INTO builds VALUES (3, NULL), (4, 99)",
    "INSERT INTO masters VALUES (5, 1), (6, 0)",
    "INSERT INTO connected_workers VALUES (1), (2)",
)


async def test_what_a_gone_master_claims_is_released_under_its_lease_alone(engine):
    store = BenchStore(DirectPool(engine))
    for statement in TABLES:
        change(engine, statement)
    try:
        assert await store.busy_masters() == {1, 2, 3, 5}
        with pytest.raises(LeaseLostError):
            await store.release_claims(FIRST, name="master:1", token="mine")
        await store.take_lease("master:1", token="mine", masterid=SECOND, hold_s=60.0)
        assert await store.release_claims(FIRST, name="master:1", token="mine") == [10, 13]
        assert await store.busy_masters() == {2, 3, 5}
        with engine.connect() as conn:
            left = conn.execute(sa.text("SELECT masterid FROM connected_workers")).scalars().all()
        assert left == [SECOND]
    finally:
        for statement in TABLES[:5]:
            change(engine, f"DROP TABLE {statement.split()[2]}")
