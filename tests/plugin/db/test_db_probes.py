"""Probes: asked for once, issued by one master, found again by all their names."""

import pytest
import sqlalchemy as sa


async def test_asking_twice_gives_the_same_probe(store, a_probe):
    first = await a_probe(name="k", token="job-1")
    again = await a_probe(name="k", token="job-2", iterations=9)
    assert again == first
    assert (first.state, first.reason, first.attempt) == ("new", "commit", 0)


async def test_a_probe_is_found_by_its_id(store, a_probe):
    probe = await a_probe(name="k", token="job-1")
    assert await store.probe(probe.id) == probe
    assert await store.probe(probe.id + 1) is None


async def test_only_one_master_issues_a_probe(store, a_probe):
    probe = await a_probe()
    issued = await store.change(probe, state="issued", brid=12, issued_at=5.0)
    assert (issued.state, issued.brid, issued.version) == ("issued", 12, 1)
    assert await store.change(probe, state="issued", brid=13) is None


async def test_the_most_urgent_probe_comes_first(store, a_probe):
    low = await a_probe(name="a", priority=0)
    high = await a_probe(name="b", priority=30)
    later = await a_probe(name="c", priority=30)
    assert await store.probes(state="new") == [high, later, low]
    assert await store.probes(state="issued") == []


async def test_the_latest_requests_are_listed_first(store, a_probe):
    _, second, third = [await a_probe(name=key) for key in "abc"]
    assert await store.recent_probes(limit=2) == [third, second]


async def test_a_commit_is_judged_when_its_probe_has_ended_and_only_once(store, a_probe):
    ended, judged, _running = [await a_probe(name=key, reason="backfill") for key in "abc"]
    confirming = await a_probe(name="d", reason="confirm")
    ended = await store.change(ended, state="done")
    await store.change(judged, state="done", judged=True)
    await store.change(confirming, state="done")
    assert await store.unjudged_probes() == [ended]


async def test_the_probes_of_a_search_are_its_own(store, a_probe, a_search):
    search = await a_search()
    ours = await a_probe(name="a", reason="search", search_id=search.id)
    await a_probe(name="b")
    assert await store.probes_of_search(search.id) == [ours]


async def test_the_probes_of_images_are_those_of_a_series(store, an_image, a_probe):
    first, second = await an_image(1), await an_image(2)
    forwarding = await a_probe(first, name="a")
    filtered = await a_probe(first, name="b", workload="pf-statefull")
    other = await a_probe(second, name="c", testbed="xeon")
    both, on_apu = [first.id, second.id], ("apu", "forwarding")
    assert await store.probes_of(both, on_apu) == [forwarding]
    assert await store.probes_of(both, ("apu", "pf-statefull")) == [filtered]
    assert await store.probes_of(both, ("xeon", "forwarding")) == [other]
    assert await store.probes_of([], on_apu) == []


async def test_nobody_asks_for_an_unknown_reason(a_probe):
    with pytest.raises(sa.exc.StatementError, match="whim"):
        await a_probe(reason="whim")
