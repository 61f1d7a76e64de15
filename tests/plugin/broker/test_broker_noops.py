"""A commit that changes no byte of the kernel is not booted, and a reader is told why."""

import pytest

from buildbot_bench.plugin.broker.issue import Issuer

SAME = {"state": "built", "digest": "5" * 64, "size": 9}
OTHER = SAME | {"digest": "6" * 64}
VALUES = (1.0, 1.01, 0.99)
# Two artefacts of one kernel: their builds tell different things of themselves.
FIRST = {"state": "built", "digest": "7" * 64, "size": 9, "kernel_digest": "a" * 64}
REBUILT = FIRST | {"digest": "8" * 64}


@pytest.fixture
def issue(farm, master):
    """Issues what is worth a boot, and closes what is not."""
    return Issuer(farm, master).issue


async def measured(past, position: int, **columns) -> None:
    await past.commits(*range(1, 10))
    await past.measured(await past.image(position, **columns), VALUES)


async def test_a_kernel_of_the_same_bytes_as_its_predecessors_is_not_booted(
    issue, past, farm, master
):
    await measured(past, 4, **SAME)
    probe = await past.probe(await past.image(5, **SAME))
    await issue()
    ended = await farm.store.probe(probe.id)
    assert (ended.state, ended.failure) == ("done", "no-op change: same kernel as r4")
    assert master.requests == []
    (comparison,) = await farm.store.judgements()
    assert (comparison.state, comparison.old_position, comparison.new_position) == ("nothing", 4, 5)
    assert comparison.verdict.reason == "no-op change: same kernel as r4"
    assert probe.id not in {row.id for row in await farm.store.unjudged_probes()}


async def test_a_kernel_that_differs_in_its_version_alone_is_not_booted(issue, past, farm):
    await measured(past, 4, **FIRST)
    probe = await past.probe(await past.image(5, **REBUILT))
    await issue()
    assert (await farm.store.probe(probe.id)).failure == "no-op change: same kernel as r4"


async def test_a_kernel_of_an_earlier_release_of_the_farm_is_known_by_its_artefact(
    issue, past, farm
):
    await measured(past, 4, **SAME)
    probe = await past.probe(await past.image(5, **SAME, kernel_digest="a" * 64))
    await issue()
    assert (await farm.store.probe(probe.id)).state == "issued"


async def test_a_row_of_them_goes_back_to_the_one_that_was_measured(issue, past, farm):
    await measured(past, 4, **SAME)
    for position in (5, 6):
        probe = await past.probe(await past.image(position, **SAME))
        await issue()
    assert (await farm.store.probe(probe.id)).failure == "no-op change: same kernel as r4"


@pytest.mark.parametrize(
    ("between", "reason"),
    [(OTHER, "commit"), (SAME, "search"), (SAME, "confirm")],
)
async def test_what_is_worth_a_boot_is_booted(issue, past, farm, between, reason):
    await measured(past, 3, **SAME)
    await past.image(4, **between)
    probe = await past.probe(await past.image(5, **SAME), reason=reason)
    await issue()
    assert (await farm.store.probe(probe.id)).state == "issued"


async def test_a_twin_that_was_measured_elsewhere_or_otherwise_does_not_count(issue, past, farm):
    await past.commits(*range(1, 10))
    twin = await past.image(4, **SAME)
    await past.measured(twin, VALUES, testbed="xeon")
    asked = {"iterations": 1, "reason": "person", "tunables": "net.x=1", "state": "done"}
    tuned = await past.probe(twin, **asked)
    await past.add(tuned, 0, 9.0)
    probe = await past.probe(await past.image(5, **SAME))
    await issue()
    assert (await farm.store.probe(probe.id)).state == "issued"
