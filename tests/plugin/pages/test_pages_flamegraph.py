"""Flame graphs as a browser gets them: drawn, content and all, and harmless."""

import pytest
from twisted.internet.defer import Deferred
from twisted.web.test.requesthelper import DummyRequest

from buildbot_bench.plugin.pages.application import FlameGraphPages

OLD = "main;ip_input 700\nmain;<script>alert(1)</script> 100\ncpu_idle 200\n"
NEW = "main;ip_input 400\nmain;route_lookup 500\ncpu_idle 100\n"


async def captures(past, farm, *texts: str) -> list[int]:
    numbers = []
    for position, text in enumerate(texts, start=6):
        row = await farm.store.ensure_profile(
            key=f"k{position}",
            token="job",
            image_id=(await past.image(position)).id,
            testbed="apu",
            workload="forwarding",
            now=1.0,
        )
        kept = await farm.store.add_capture(counter="cycles", folded=text, taken_at=1.0)
        done = await farm.store.change(row, state="done", digest=kept.digest)
        numbers.append(done.id)
    return numbers


async def asked(master, name: str) -> tuple[int, str, dict[bytes, bytes]]:
    """Status, body and headers of a page."""
    request = DummyRequest([b""])
    finished: Deferred[None] = request.notifyFinish()
    FlameGraphPages(master).getChild(name.encode(), request).render(request)
    await finished
    headers = {
        name.lower(): values[0] for name, values in request.responseHeaders.getAllRawHeaders()
    }
    return request.responseCode or 200, b"".join(request.written).decode(), headers


async def test_a_capture_and_the_difference_of_two_are_drawn(past, farm, master):
    old, new = await captures(past, farm, OLD, NEW)
    status, svg, headers = await asked(master, f"{new}.svg")
    assert (status, headers[b"content-type"]) == (200, b"image/svg+xml; charset=utf-8")
    assert "r7: forwarding on apu" in svg
    assert "route_lookup" in svg
    _, svg, _ = await asked(master, f"{old}-{new}.svg")
    assert "r6 to r7: forwarding on apu" in svg
    assert "From r6 (20.0% idle) to r7 (10.0% idle)." in svg


async def test_a_difference_is_scaled_by_what_a_packet_costs_on_both_sides(past, farm, master):
    old, new = await captures(past, farm, OLD, NEW)
    await past.measured(6, (900_000.0, 900_000.0))
    await past.measured(7, (600_000.0, 600_000.0))
    _, svg, _ = await asked(master, f"{old}-{new}.svg")
    assert "a packet costs 1.500 times what it cost with r6." in svg


async def test_the_stacks_are_there_as_they_were_taken(past, farm, master):
    (number,) = await captures(past, farm, OLD)
    status, text, headers = await asked(master, f"{number}.folded")
    assert (status, text) == (200, OLD)
    assert headers[b"content-type"] == b"text/plain; charset=utf-8"


async def test_a_browser_runs_it_apart_loads_nothing_and_guesses_nothing(past, farm, master):
    (number,) = await captures(past, farm, OLD)
    for name in (f"{number}.svg", f"{number}.folded", "nothing"):
        _, body, headers = await asked(master, name)
        assert headers[b"x-content-type-options"] == b"nosniff"
        policy = headers[b"content-security-policy"].decode()
        assert "default-src 'none'" in policy
        assert policy.endswith("sandbox allow-scripts")  # and not allow-same-origin
        if name.endswith(".svg"):
            assert "<script>alert" not in body


@pytest.mark.parametrize(
    "name", ["99.svg", "1-99.svg", "1-2-3.svg", "../1.svg", "1.html", "99.folded", "", "1.svg\n"]
)
async def test_anything_else_is_not_found(past, farm, master, name):
    await captures(past, farm, OLD)
    status, body, _ = await asked(master, name)
    assert (status, body) == (404, "this capture does not exist\n")


async def test_a_request_that_was_not_met_yet_has_no_picture(past, farm, master):
    (number,) = await captures(past, farm, OLD)
    row = await farm.store.profile(number)
    await farm.store.change(row, state="issued", digest=None)
    assert (await asked(master, f"{number}.svg"))[0] == 404
