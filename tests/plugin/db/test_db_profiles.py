"""Requests for captures, each once, and captures, each known by its content."""

import gzip
import hashlib
import json

import pytest


@pytest.fixture
def a_profile(store, an_image):
    """Asks for a capture of the image at position 7."""

    async def make(**columns):
        values = {
            "key": "search:1:old",
            "token": "job",
            "image_id": (await an_image()).id,
            "testbed": "apu",
            "workload": "forwarding",
            "now": 2.0,
        }
        return await store.ensure_profile(**values | columns)

    return make


async def test_asking_twice_gives_the_same_request(store, a_profile):
    first = await a_profile()
    assert await a_profile(token="other", now=9.0) == first
    assert (first.state, first.attempt, first.digest) == ("new", 0, None)
    assert await store.profile(first.id) == first


async def test_only_one_master_issues_it(store, a_profile):
    row = await a_profile()
    issued = await store.change(row, state="issued", brid=12)
    assert (issued.state, issued.brid) == ("issued", 12)
    assert await store.change(row, state="issued", brid=13) is None
    assert await store.profiles(state="issued") == [issued]
    assert await store.profiles(state="new") == []


async def test_those_of_a_search_are_its_own_the_old_side_first(store, a_profile, a_search):
    search, other = await a_search(), await a_search(key="alarm:2")
    old = await a_profile(key="a", search_id=search.id)
    new = await a_profile(key="b", search_id=search.id)
    await a_profile(key="c", search_id=other.id)
    assert await store.profiles_of_search(search.id) == [old, new]


async def test_a_capture_is_kept_once_and_comes_back_as_it_was(store):
    folded = "fork_exit;ip_input 3\nFØØ;\udcff 1\n"
    kept = await store.add_capture(counter="cycles", folded=folded, taken_at=1.0)
    again = await store.add_capture(counter="cycles", folded=folded, taken_at=2.0)
    assert again == kept
    text = folded.encode("utf-8", "surrogatepass")
    assert kept.digest == hashlib.sha256(text).hexdigest()
    found = await store.capture(kept.digest)
    assert gzip.decompress(found.body) == text
    assert await store.capture("0" * 64) is None


async def test_packets_and_places_are_kept_with_it_and_make_it_another_one(store):
    bare = await store.add_capture(counter="c", folded="f 3\n", taken_at=1.0)
    assert (bare.packets, bare.places) == (0, None)
    known = {"packets": 64, "places": {"f": "sys/a.c:1"}}
    told = await store.add_capture(counter="c", folded="f 3\n", taken_at=1.0, **known)
    assert await store.add_capture(counter="c", folded="f 3\n", taken_at=2.0, **known) == told
    assert told.digest != bare.digest
    assert (await store.capture(told.digest)).packets == 64
    assert json.loads(gzip.decompress(told.places)) == known["places"]
    moved = {"packets": 64, "places": {"f": "sys/a.c:2"}}
    other = await store.add_capture(counter="c", folded="f 3\n", taken_at=1.0, **moved)
    assert other.digest != told.digest
