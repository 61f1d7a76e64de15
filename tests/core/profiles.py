"""Profiles for tests: recorded ones, and small ones written as folded stacks."""

import gzip

from buildbot_bench.core.profile.formats import parse_folded, parse_pmc_graph

SIMPLE_TX = ("n311215-D58513.simple_tx_off", "n311215-D58513.simple_tx_on")
CAPTURES = (*SIMPLE_TX, "r320657.inet4", "r320657D11476.inet4")
MISSED = ("r311848.forwarding", "r311849.forwarding")


def recorded_text(data, name):
    return gzip.decompress((data / "pmc" / f"{name}.gz").read_bytes()).decode()


def recorded(data, name):
    return parse_pmc_graph(recorded_text(data, f"{name}.pmc.graph").splitlines(), source=name)


def folded(*lines):
    return parse_folded(lines, source="test")
