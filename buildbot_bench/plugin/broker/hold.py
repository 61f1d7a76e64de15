"""What a testbed in quarantine does not do: anything but measure its control image.

What it would tell of a kernel, by captures too, would be told by a lab that is ill.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from twisted.internet.defer import Deferred

from buildbot_bench.plugin.db.rows import ProbeRow
from buildbot_bench.plugin.db.states import ProbeReason
from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.farm.series import held_testbeds


def is_let_through(probe: ProbeRow, held: Collection[str]) -> bool:
    """Whether a probe may run now; `held` are the testbeds in quarantine."""
    return probe.testbed not in held or probe.reason == ProbeReason.CONTROL


def may_start(builder: Any, _worker: Any, request: Any) -> Deferred[bool]:
    """Buildbot's question before it starts a build: holds what was issued before the quarantine."""
    probe, profile = map(request.properties.getProperty, ("bench_probe", "bench_profile"))
    return Deferred.fromCoroutine(_may_start(farm_of(builder.master), probe or 0, profile or 0))


async def _may_start(farm: Farm, probe_id: int, profile_id: int) -> bool:
    probe, profile = await farm.store.probe(probe_id), await farm.store.profile(profile_id)
    held = await held_testbeds(farm)
    if probe is not None:
        return is_let_through(probe, held)
    # What is neither, the step will say that it is none of ours.
    return profile is None or profile.testbed not in held
