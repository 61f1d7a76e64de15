"""A capture as text, in one of the formats that `bench-lab profile` writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from buildbot_bench.core.profile import (
    Profile,
    format_folded,
    format_gprof,
    format_pmc_graph,
    parse_folded,
)
from buildbot_bench.core.wire import Profiled

CAPTURE_FORMATS: Mapping[str, Callable[[Profile], str]] = {
    "folded": format_folded,
    "gprof": format_gprof,
    "pmc.graph": format_pmc_graph,
}


def capture_text(taken: Profiled, form: str) -> str:
    """The text of a capture in one of CAPTURE_FORMATS; UsageError when it holds no stacks."""
    profile = parse_folded(taken.folded.splitlines(), source="the capture")
    return CAPTURE_FORMATS[form](replace(profile, event=taken.counter))
