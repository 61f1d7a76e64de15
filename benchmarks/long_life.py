"""The rows of a farm that has lived for years, written straight into its tables."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from buildbot.db.model import Model

from buildbot_bench.plugin.db.schema import COMMIT, IMAGE, ITERATION, PROBE

FIRST = 2001  # beyond the positions of the farm's real repository
START_S = 1_700_000_000
HOUR_S = 3600
LOG = "seconds 1 to 30: main_thread [2567] 1.41 Mpps (1.41 Mpkts 676.80 Mbps in 1000999 usec)\n" * 8

Row = dict[str, Any]


def live(
    connection: sa.Connection, testbed: str, workloads: Sequence[str], revisions: int, boots: int
) -> None:
    """A commit an hour, each built once and booted so often for each workload."""
    chance = random.Random(1)
    positions = range(FIRST, FIRST + revisions)
    connection.execute(sa.insert(COMMIT), [_commit(position) for position in positions])
    connection.execute(sa.insert(IMAGE), [_image(position) for position in positions])
    wanted = [(position, workload) for position in positions for workload in workloads]
    probes = [_probe(FIRST + n, *one, testbed, boots) for n, one in enumerate(wanted)]
    connection.execute(sa.insert(PROBE), probes)
    level = {workload: 1e6 / 2**n for n, workload in enumerate(workloads)}
    for start in range(0, len(probes), 2000):
        chunk = probes[start : start + 2000]
        connection.execute(sa.insert(ITERATION), list(_iterations(chunk, level, boots, chance)))
    _build(connection, revisions * (1 + len(workloads)))


def _sha(position: int) -> str:
    return f"{position:040x}"


def _at_s(position: int) -> float:
    return START_S + (position - FIRST) * HOUR_S


def _commit(position: int) -> Row:
    return {
        "branch": "main",
        "sha": _sha(position),
        "position": position,
        "svn": 320_000 + position,
        "subject": f"Change number {position} of a long life",
        "author": "A Committer <committer@example.org>",
        "committed_at_s": int(_at_s(position)),
        "important": False,
        "arrived_at": _at_s(position),
    }


def _image(position: int) -> Row:
    return {
        "id": position,
        "sha": _sha(position),
        "variant": _sha(position),
        "ordinal": 0,
        "position": position,
        "label": f"r{320_000 + position}",
        "state": "built",
        "digest": f"{position:064x}",
        "created_at": _at_s(position),
        "changed_at": _at_s(position),
        "version": 0,
    }


def _probe(number: int, position: int, workload: str, testbed: str, boots: int) -> Row:
    return {
        "id": number,
        "key": f"long-life:{number}",
        "token": f"long-life-{number}",
        "image_id": position,
        "testbed": testbed,
        "workload": workload,
        "epoch": "1",
        "iterations": boots,
        "priority": 10,
        "reason": "commit",
        "state": "done",
        "judged": True,
        "created_at": _at_s(position),
        "ended_at": _at_s(position),
        "version": 0,
    }


def _iterations(
    probes: Sequence[Row], level: dict[str, float], boots: int, chance: random.Random
) -> Iterator[Row]:
    """Boots vary by 0.8 %, images by 1 %; every thousandth commit moves the level."""
    for probe in probes:
        if probe["image_id"] % 1000 == 0:
            level[probe["workload"]] *= chance.choice((0.9, 1.08, 1.15))
        image = level[probe["workload"]] * chance.gauss(1, 0.01)
        for ordinal in range(boots):
            yield {
                "probe_id": probe["id"],
                "image_id": probe["image_id"],
                "testbed": probe["testbed"],
                "workload": probe["workload"],
                "epoch": "1",
                "ordinal": ordinal,
                "unit": "pps",
                "is_primary": True,
                "value": image * chance.gauss(1, 0.008),
                "at_s": probe["ended_at"] + 100 * ordinal,
                "duration_s": 95.0,
                "facts": {},
                "log": LOG,
            }


def _build(connection: sa.Connection, builds: int) -> None:
    """As many builds as those commits took, in Buildbot's own tables."""
    builders = connection.execute(sa.select(Model.builders.c.id)).scalars().all()
    master = connection.execute(sa.select(Model.masters.c.id)).scalars().first()
    numbers = range(FIRST, FIRST + builds)
    times = {n: START_S + n * HOUR_S // 4 for n in numbers}
    builder = {n: builders[n % len(builders)] for n in numbers}
    sets = [
        {"id": n, "submitted_at": t, "complete": 1, "complete_at": t, "results": 0}
        for n, t in times.items()
    ]
    requests = [
        {
            "id": n,
            "buildsetid": n,
            "builderid": builder[n],
            "priority": 0,
            "complete": 1,
            "results": 0,
            "submitted_at": t,
            "complete_at": t,
        }
        for n, t in times.items()
    ]
    done = [
        {
            "id": n,
            "number": n,
            "builderid": builder[n],
            "buildrequestid": n,
            "masterid": master,
            "started_at": t,
            "complete_at": t + 600,
            "locks_duration_s": 0,
            "results": 0,
            "state_string": "build successful",
        }
        for n, t in times.items()
    ]
    connection.execute(sa.insert(Model.buildsets), sets)
    connection.execute(sa.insert(Model.buildrequests), requests)
    connection.execute(sa.insert(Model.builds), done)
