"""The farm's state as a small picture for a README: what the newest search came to."""

from __future__ import annotations

from buildbot_bench.plugin.db.states import SearchState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.pages.history import culprits_of
from buildbot_bench.render.badge import Tone, badge_svg

_LABEL = "bench"


async def badge(farm: Farm) -> str:
    """The badge as SVG."""
    return badge_svg(_LABEL, *await state(farm))


async def state(farm: Farm) -> tuple[str, Tone]:
    """What the newest search came to; `measuring` while there was none."""
    searches = await farm.store.searches(limit=1)
    if not searches:
        return "measuring", Tone.CALM
    (newest,) = searches
    match newest.state:
        case SearchState.FOUND:
            marks = await culprits_of(farm, newest)
            effects = {mark.label: mark.effect or 0.0 for mark in marks}
            worst = max(effects, key=lambda label: abs(effects[label]))
            return f"{worst} {effects[worst]:+.1%}", Tone.ALARM if effects[worst] < 0 else Tone.CALM
        case SearchState.RUNNING | SearchState.CANCELLING:
            return "searching", Tone.BUSY
        case SearchState.NOT_REPRODUCED | SearchState.CANCELLED:
            return "no known change", Tone.CALM
        case SearchState.INCONCLUSIVE | SearchState.FAILED:
            return newest.state.value, Tone.BUSY
