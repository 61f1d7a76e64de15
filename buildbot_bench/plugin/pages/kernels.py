"""How many built kernels there are, and what would be deleted of them; it deletes none."""

from __future__ import annotations

from typing import Any

from buildbot_bench.plugin.broker.retention import inventory
from buildbot_bench.plugin.farm import Farm

Json = dict[str, Any]


async def kernels(farm: Farm) -> Json:
    """How many built kernels there are, and what bench.yml would have deleted of them now."""
    found = await inventory(farm)
    return {
        "place": farm.workflow.artefacts.place or "the master's disk",
        "count": len(found.stored),
        "bytes": sum(one.size for one in found.stored),
        "needed": sum(one.needed for one in found.stored),
        "expired": len(found.expired),
        "expired_bytes": sum(one.size for one in found.expired),
    }
