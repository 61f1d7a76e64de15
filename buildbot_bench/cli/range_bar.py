"""A range as a line of cells that shows measured and suspected parts."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.cli.answers import RemoteProbe, RemoteProbeState, RemoteSearch

EMPTY, SUSPECTED, ASKED, MEASURED, FAILED = "─", "█", "○", "●", "✗"


def range_bar(search: RemoteSearch, probes: Sequence[RemoteProbe], *, cells: int) -> str:
    """`cells` characters from the old end to the new one.

    Suspects are named by labels, so that only those show whose ends were probed: all of them,
    for a search that learns by probing. They lie over what was measured, which shows around them;
    what is being measured lies over all.
    """
    span = max(1, search.new.position - search.old.position)

    def cell(position: int) -> int:
        share = (position - search.old.position) / span
        return min(cells - 1, max(0, round(share * (cells - 1))))

    line = [EMPTY] * cells
    where = {end.label: end.position for end in (search.old, search.new)}
    for probe in sorted(probes, key=lambda p: p.serial):
        where[probe.label] = probe.position
        if probe.ended:
            line[cell(probe.position)] = MEASURED if probe.values else FAILED
    for suspect in search.suspects:
        if suspect.old in where and suspect.new in where:
            first, last = cell(where[suspect.old]), cell(where[suspect.new])
            line[first : last + 1] = [SUSPECTED] * (last + 1 - first)
    for probe in probes:
        if probe.state is RemoteProbeState.ISSUED:
            line[cell(probe.position)] = ASKED
    return "".join(line)
