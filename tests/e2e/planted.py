"""Rows of boots that no lab did, for the pages that show them."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema import IMAGE, ITERATION, PROBE
from tests.e2e.replay_farm import ReplayFarm

AT_S = 1_700_000_000.0
TESTBED = "replay"

# By workload the unit, and what the boots of each position gave.
Planted = Mapping[str, tuple[str, Mapping[int, Sequence[float]]]]


def plant(farm: ReplayFarm, series: Planted) -> None:
    """Have the revisions at these positions measured on each workload; all is judged already."""
    shas = dict(enumerate(farm.history.shas.items(), 1))
    places = sorted({position for _, points in series.values() for position in points})
    with farm.database.begin() as connection:
        for position in places:
            label, sha = shas[position]
            connection.execute(sa.insert(IMAGE).values(_image(position, label, sha)))
        for workload, (unit, points) in series.items():
            for position, values in points.items():
                probe = connection.execute(
                    sa.insert(PROBE).values(_probe(position, workload, len(values)))
                ).inserted_primary_key
                assert probe is not None
                rows = [
                    _iteration(position, ordinal, value)
                    | {"probe_id": probe[0], "workload": workload, "unit": unit}
                    for ordinal, value in enumerate(values)
                ]
                connection.execute(sa.insert(ITERATION), rows)


def _image(position: int, label: str, sha: str) -> dict[str, object]:
    return {
        "id": position,
        "sha": sha,
        "variant": sha,
        "ordinal": 0,
        "position": position,
        "label": label,
        "state": "built",
        "digest": f"{position:064x}",
        "text_bytes": 24_576_000 + 4096 * position,
        "data_bytes": 1_000_000,
        "build_s": 850.0 + position,
        "created_at": AT_S,
        "changed_at": AT_S,
        "version": 0,
    }


def _probe(position: int, workload: str, iterations: int) -> dict[str, object]:
    return {
        "key": f"planted:{workload}:{position}",
        "token": f"planted-{workload}-{position}",
        "image_id": position,
        "testbed": TESTBED,
        "workload": workload,
        "epoch": "1",
        "iterations": iterations,
        "priority": 10,
        "reason": "commit",
        "state": "done",
        "judged": True,
        "created_at": AT_S,
        "ended_at": AT_S,
        "version": 0,
    }


def _iteration(position: int, ordinal: int, value: float) -> dict[str, object]:
    return {
        "image_id": position,
        "testbed": TESTBED,
        "epoch": "1",
        "ordinal": ordinal,
        "is_primary": True,
        "value": value,
        "at_s": AT_S + 100 * position + ordinal,
        "duration_s": 95.0,
        "facts": {},
        "log": "",
    }
