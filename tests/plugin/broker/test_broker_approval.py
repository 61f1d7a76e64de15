"""A stranger's patch: nothing of it is built or run before somebody with the right approves."""

from __future__ import annotations

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.broker.ab_tests import AbTests
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.requests.comparison_requests import (
    ComparisonQuestion,
    ComparisonRequests,
)

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
    with pytest.raises(UsageError, match="somebody else was quicker"):
        await ComparisonRequests(farm).decide(ab_test_id, "bob", approved=True)
