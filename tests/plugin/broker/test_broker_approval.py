"""A stranger's patch: nothing of it is built or run before somebody with the right approves."""

from dataclasses import replace

import pytest

from buildbot_bench.api.requests import ComparisonQuestion, Extension
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.plugin.broker.ab_tests import AbTests
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.removed import LOOK_EVERY_S, UnapprovedPatches
from buildbot_bench.plugin.db.rows import ProbeRequest
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.turns import boots_of_a_day
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests

DAY_S = 24 * 3600.0
PATCH = b'--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+system("rm -rf /")\n'


@pytest.fixture
def ask(farm):
    async def ask(*, trusted=False, new="r4+file:my.patch", by="guest") -> int:
        question = ComparisonQuestion(variants=("r4", new), patches={"my.patch": PATCH})
        return (await ComparisonRequests(farm).start(question, by, trusted=trusted))["comparisonid"]

    return ask


@pytest.fixture
def turns(farm, master):
    async def turns(times=3) -> None:
        for _ in range(times):
            await AbTests(farm).advance()
            await Issuer(farm, master).issue()

    return turns


async def patched(farm):
    """The state of the image with the patch."""
    (image,) = [image for image in await farm.store.images() if "+patch:" in image.variant]
    return image.state


def built(master) -> set[str]:
    return {request.reason for request in master.requests}


async def test_nothing_is_built_before_approval(ask, turns, farm, master):
    ab_test_id = await ask()
    await turns()
    assert built(master) == {"build r4"}
    assert (await farm.store.ab_test(ab_test_id)).state == "awaiting approval"
    assert await patched(farm) == "held"
    assert await farm.store.probes() == []


async def test_the_patch_is_shown_to_whoever_decides(ask, farm):
    found = await ComparisonViews(farm).describe(await ask())
    assert found["now"] == "its patches await approval"
    (patch,) = found["patches"]
    assert (patch["origin"], patch["text"]) == ("my.patch", PATCH.decode())


async def test_what_is_approved_is_built(ask, turns, farm, master):
    ab_test_id = await ask()
    await ComparisonRequests(farm).decide(ab_test_id, "ann", approved=True)
    await turns()
    assert built(master) == {"build r4", "build r4+file:my.patch"}
    ab_test = await farm.store.ab_test(ab_test_id)
    assert (ab_test.state, ab_test.decided_by) == ("running", "ann")
    assert (await ComparisonViews(farm).describe(ab_test_id))["patches"] == []


async def test_what_is_rejected_never_is(ask, turns, farm, master):
    ab_test_id = await ask()
    await ComparisonRequests(farm).decide(ab_test_id, "ann", approved=False)
    await turns()
    ab_test = await farm.store.ab_test(ab_test_id)
    assert (ab_test.state, ab_test.detail) == ("rejected", "its patches were rejected by ann")
    assert ab_test.ended
    assert built(master) == {"build r4"}


async def test_a_second_guest_waits_for_the_same_patch_too(ask, turns, master):
    await ask()
    await ask(by="other")
    await turns()
    assert built(master) == {"build r4"}


async def test_who_may_approve_need_not_ask(ask, turns, farm, master):
    ab_test_id = await ask(trusted=True, by="ann")
    await turns()
    assert (await farm.store.ab_test(ab_test_id)).state == "running"
    assert "build r4+file:my.patch" in built(master)


async def test_what_somebody_who_may_has_had_built_is_run_for_a_guest_too(ask, farm):
    await ask(trusted=True, by="ann")
    ab_test_id = await ask()
    assert (await farm.store.ab_test(ab_test_id)).state == "running"


async def test_an_option_is_nobodys_code(ask, farm):
    ab_test_id = await ask(new="r4+VIMAGE")
    assert (await farm.store.ab_test(ab_test_id)).state == "running"


async def test_a_guest_may_take_it_back(ask, turns, farm, master):
    ab_test_id = await ask()
    await ComparisonRequests(farm).cancel(ab_test_id)
    await turns()
    assert (await farm.store.ab_test(ab_test_id)).state == "cancelled"
    assert built(master) == {"build r4"}


@pytest.mark.parametrize("first", [True, False])
async def test_one_decision_is_enough(ask, farm, first):
    ab_test_id = await ask()
    await ComparisonRequests(farm).decide(ab_test_id, "ann", approved=first)
    with pytest.raises(UsageError, match=f"comparison {ab_test_id} awaits no approval: it is r"):
        await ComparisonRequests(farm).decide(ab_test_id, "bob", approved=not first)


async def test_of_two_who_decide_at_once_one_is_told(ask, farm, monkeypatch):
    ab_test_id = await ask()
    seen = await farm.store.ab_test(ab_test_id)
    await ComparisonRequests(farm).decide(ab_test_id, "ann", approved=False)

    async def stale(_ab_test_id):
        return seen

    monkeypatch.setattr(farm.store, "ab_test", stale)
    with pytest.raises(UsageError, match="another person has already decided"):
        await ComparisonRequests(farm).decide(ab_test_id, "bob", approved=True)


LARGE = PATCH + b"+" + b"x" * 3000 + b"\n"


def a_patch(number: int) -> bytes:
    return PATCH.replace(b"rm -rf /", f"rm -rf /{number}".encode())


async def wants(farm, number, *, trusted=False, by="guest", body=None):
    question = ComparisonQuestion(
        variants=("r4", "r4+file:p"), patches={"p": body or a_patch(number)}
    )
    return await ComparisonRequests(farm).start(question, by, trusted=trusted)


async def test_a_guest_has_so_many_comparisons_at_a_time(make_farm):
    farm = make_farm(("\nmail:", "\nuntrusted: {comparisons: 2}\n\nmail:"))
    first, _ = [await wants(farm, number) for number in range(2)]
    with pytest.raises(UsageError, match=r"2 of your comparisons .* 2 are the most"):
        await wants(farm, 2)
    await wants(farm, 2, by="other")
    await wants(farm, 3, by="ann", trusted=True)
    await ComparisonRequests(farm).decide(first["comparisonid"], "ann", approved=False)
    await wants(farm, 4)


@pytest.mark.both_databases
async def test_a_guest_has_so_many_boots_a_day(make_farm, master):
    farm = make_farm(("\nmail:", "\nuntrusted: {boots-a-day: 15}\n\nmail:"))
    requests = ComparisonRequests(farm)
    question = ComparisonQuestion(variants=("r4", "r4+VIMAGE"))
    with pytest.raises(UsageError, match=r"takes 16 boots: .* had 0 within 24 hours, and 15 are"):
        await requests.start(replace(question, iterations=8), "guest", trusted=False)
    number = (await requests.start(question, "guest", trusted=False))["comparisonid"]
    assert (await farm.store.ab_test(number)).limited
    base = (await farm.store.ab_test(number)).variants[0].image_id
    request = ProbeRequest(
        image_id=base,
        testbed="apu",
        workload="forwarding",
        iterations=10,
        reason="person",
        priority=30,
        ab_test_id=number,
    )
    probe = await farm.store.ensure_probe(request, token="t", now=farm.now())
    await farm.store.change(probe, state="done", issued_at=farm.now())
    with pytest.raises(UsageError, match="had 10 within 24 hours") as refused:
        await requests.extend(number, Extension(more=3), "guest", trusted=False)
    assert "tomorrow" in refused.value.hint
    await requests.extend(number, Extension(more=2), "guest", trusted=False)
    await requests.start(replace(question, iterations=20), "ann", trusted=True)
    master.reactor.advance(DAY_S + 1)
    await requests.extend(number, Extension(more=3), "guest", trusted=False)


@pytest.mark.both_databases
async def test_who_extends_a_comparison_pays_for_its_boots_from_then_on(make_farm):
    farm = make_farm(("\nmail:", "\nuntrusted: {boots-a-day: 15}\n\nmail:"))
    requests, store = ComparisonRequests(farm), farm.store
    question = ComparisonQuestion(variants=("r4", "r4+VIMAGE"), priority=PersonPriority.HIGH)
    number = (await requests.start(question, "ann"))["comparisonid"]

    async def boots(times: int) -> None:
        row = await store.ab_test(number)
        request = ProbeRequest(
            image_id=row.variants[0].image_id,
            testbed="apu",
            workload="forwarding",
            iterations=times,
            reason="person",
            priority=30,
            ab_test_id=number,
            serial=len(await store.probes()),
        )
        probe = await store.ensure_probe(request, token=str(request.serial), now=farm.now())
        await store.change(probe, issued_at=farm.now(), state="done")

    await boots(10)
    ended = await store.ab_test(number)
    await store.change_ab_test(ended, state="done", ended_at=farm.now())
    with pytest.raises(UsageError, match="takes 16 boots: your comparisons had 0"):
        await requests.extend(number, Extension(more=8), "guest", trusted=False)
    await requests.extend(number, Extension(more=1), "guest", trusted=False)
    extended = await store.ab_test(number)
    assert (extended.requester, extended.payer, extended.limited) == ("ann", "guest", True)
    assert extended.priority is PersonPriority.NORMAL
    await boots(14)
    assert await boots_of_a_day(farm, ["ann", "guest"]) == {"guest": 14}
    with pytest.raises(UsageError, match="had 14 within 24 hours"):
        await requests.extend(number, Extension(more=1), "guest", trusted=False)
    with pytest.raises(UsageError, match="is running on the account of guest"):
        await requests.extend(number, Extension(), "other", trusted=False)
    await requests.extend(number, Extension(more=1), "ann")
    await boots(100)
    assert await boots_of_a_day(farm, ["ann", "guest"]) == {"guest": 14}


@pytest.mark.both_databases
async def test_a_guests_patches_have_a_quota_of_bytes(make_farm):
    farm = make_farm(("\nmail:", "\nuntrusted: {patch-mib: 0.001}\n\nmail:"))
    for number in range(2):
        await wants(farm, 0)  # the same bytes are kept once
        await wants(farm, number, body=a_patch(number) + b"+" + b"x" * 300 + b"\n")
    kept = await farm.store.patch_bytes("guest")
    assert kept > 600
    with pytest.raises(UsageError, match=r"of your patches already.*1.02 KiB|after 14 days"):
        await wants(farm, 9, body=a_patch(9) + b"+" + b"y" * 500 + b"\n")
    assert await farm.store.patch_bytes("guest") == kept
    await wants(farm, 9, by="ann", trusted=True, body=LARGE)
    assert await farm.store.patch_bytes("ann") == len(LARGE)


@pytest.mark.both_databases
async def test_what_nobody_approves_is_rejected_and_deleted(farm, ask, turns, master):
    ab_test_id = await ask()
    taken_back = (await wants(farm, 7))["comparisonid"]
    await ComparisonRequests(farm).cancel(taken_back)
    approved = (await wants(farm, 8, trusted=True, by="ann"))["comparisonid"]
    await turns()
    waits = UnapprovedPatches(farm)
    master.reactor.advance(13 * DAY_S)
    await waits.advance()
    assert (await farm.store.ab_test(ab_test_id)).state == "awaiting approval"
    master.reactor.advance(DAY_S + LOOK_EVERY_S)
    await waits.advance()
    for number in (ab_test_id, taken_back):
        ab_test = await farm.store.ab_test(number)
        assert (ab_test.state, ab_test.detail) == (
            "rejected",
            "nobody approved its patches within 14 days",
        )
    assert await farm.store.patch_bytes("guest") == 0
    assert (await farm.store.ab_test(approved)).state == "running"
    assert await farm.store.patch_bytes("ann") == len(a_patch(8))
    assert (await wants(farm, 7))["state"] == "awaiting approval"
    assert await farm.store.patch_bytes("guest") == len(a_patch(7))
