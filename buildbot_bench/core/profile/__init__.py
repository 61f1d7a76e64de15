"""Profiles of a DUT's CPUs: captures, functions, and differences between two captures."""

from buildbot_bench.core.profile.costs import CostChange, Priced, compare_costs, cost_ratio, price
from buildbot_bench.core.profile.formats import (
    format_folded,
    format_gprof,
    format_pmc_graph,
    parse_folded,
    parse_pmc_graph,
)
from buildbot_bench.core.profile.model import (
    EXECUTED,
    MOSTLY_IDLE,
    Profile,
    Stack,
    path_in_git,
    require_traffic,
    tidy_packets,
    tidy_places,
)
from buildbot_bench.core.profile.symbols import (
    CALLCHAIN_DEPTH,
    Cycles,
    ShareChange,
    SymbolShare,
    compare_symbols,
    restore_callers,
    share_change,
    top_symbols,
)

__all__ = [
    "CALLCHAIN_DEPTH",
    "EXECUTED",
    "MOSTLY_IDLE",
    "CostChange",
    "Cycles",
    "Priced",
    "Profile",
    "ShareChange",
    "Stack",
    "SymbolShare",
    "compare_costs",
    "compare_symbols",
    "cost_ratio",
    "format_folded",
    "format_gprof",
    "format_pmc_graph",
    "parse_folded",
    "parse_pmc_graph",
    "path_in_git",
    "price",
    "require_traffic",
    "restore_callers",
    "share_change",
    "tidy_packets",
    "tidy_places",
    "top_symbols",
]
