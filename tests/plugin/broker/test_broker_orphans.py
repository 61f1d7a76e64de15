"""Requests that a dead master claims are given back; Buildbot's housekeeping forgets them."""

from buildbot_bench.plugin.broker.collect import TELL_AGAIN_S, Collector
from buildbot_bench.plugin.broker.issue import Issuer
from tests.fakes.master import US, Request

ANOTHER = 2


async def claimed(past, farm, master, claimer: int | None, *, alive: bool | None) -> Request:
    """A request that a master has taken, after a cycle of ours."""
    await past.probe(4)
    await Issuer(farm, master).issue()
    (request,) = master.requests
    request.claimed_by = claimer
    if alive is not None:
        master.data.masters[ANOTHER] = alive
    await Collector(farm, master).collect()
    return request


async def test_what_a_dead_master_claims_is_given_back_and_told_to_the_living(past, farm, master):
    request = await claimed(past, farm, master, ANOTHER, alive=False)
    assert request.claimed_by is None
    assert master.data.events == [(request.brid, "unclaimed")]


async def test_what_a_living_master_claims_stays_its(past, farm, master):
    request = await claimed(past, farm, master, ANOTHER, alive=True)
    assert request.claimed_by == ANOTHER
    assert master.data.events == []


async def test_what_we_claim_ourselves_stays_ours_whatever_the_tables_say_of_us(past, farm, master):
    master.data.masters[US] = False
    request = await claimed(past, farm, master, US, alive=None)
    assert request.claimed_by == US


async def test_of_a_master_that_nobody_knows_nothing_is_taken(past, farm, master):
    request = await claimed(past, farm, master, ANOTHER, alive=None)
    assert request.claimed_by == ANOTHER


async def test_what_nobody_claims_yet_is_left_alone(past, farm, master):
    request = await claimed(past, farm, master, None, alive=None)
    assert request.claimed_by is None
    assert master.data.events == []


async def test_masters_are_told_again_of_what_waits_for_long(past, farm, master):
    await past.probe(4)
    await Issuer(farm, master).issue()
    (request,) = master.requests
    collector = Collector(farm, master)
    for _ in range(5):
        await collector.collect()
        master.reactor.advance(TELL_AGAIN_S / 2)
    assert master.data.events == [(request.brid, "unclaimed")] * 2
