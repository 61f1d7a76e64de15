"""How far the farm's mirror of the repository is; it fetches nothing."""

from __future__ import annotations

from buildbot_bench.plugin.farm import Farm


async def mirror(farm: Farm) -> dict[str, str]:
    """`state`: ready, begun or trouble; `text`: how far it is, or why it cannot be made."""
    return farm.mirroring.view()
