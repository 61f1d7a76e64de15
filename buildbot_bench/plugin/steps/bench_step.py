"""The row of the farm's tables that a build is about."""

from __future__ import annotations

from typing import Any

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, ProfileRow
from buildbot_bench.plugin.farm import farm_of

_HINT = "do not force these builders: ask with bench-bisect"


async def image_of(step: Any) -> ImageRow:
    """The image that the build is about."""
    image = await farm_of(step.master).store.image(step.getProperty("bench_image") or 0)
    if image is None:
        raise InfraError(_without("image"), hint=_HINT)
    return image


async def probe_of(step: Any) -> ProbeRow:
    """The probe that the build is about."""
    probe = await farm_of(step.master).store.probe(step.getProperty("bench_probe") or 0)
    if probe is None:
        raise InfraError(_without("probe"), hint=_HINT)
    return probe


async def profile_of(step: Any) -> ProfileRow:
    """The capture that the build is to take."""
    row = await farm_of(step.master).store.profile(step.getProperty("bench_profile") or 0)
    if row is None:
        raise InfraError(_without("capture"), hint=_HINT)
    return row


def _without(what: str) -> str:
    return f"this build has no {what} of the farm's tables"
