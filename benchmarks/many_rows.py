"""The rows of a farm of many testbeds, written straight into its tables.

Each series has measured each commit, most of which changed nothing. Each of the open searches
waits for a boot.
"""

import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from buildbot.db.model import Model

from benchmarks.long_life import START_S, Row
from benchmarks.many_labs import FORK, STABLE, Size, series
from buildbot_bench.core.branches import name_in_repository, repository_of
from buildbot_bench.core.report.stated import NOTHING_STATED
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.schema import (
    BRANCH,
    COMMIT,
    IMAGE,
    ITERATION,
    JUDGEMENT,
    PROBE,
    SEARCH,
)

BOOTS = 2
_CLOSED_EACH = 10  # for each open search so many that ended
_RANGE = 128
_JUDGED_EACH = 50
_CHUNK = 20_000
_MINUTE_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """A commit of a branch's own, and its number: that of its rows."""

    branch: str
    sha: str
    position: int
    number: int

    @property
    def at_s(self) -> float:
        """When it came, and was built and measured."""
        return START_S + self.number * _MINUTE_S


def fill(connection: sa.Connection, home: Path, size: Size) -> None:
    """Insert all that the farm did until now, in its tables and in Buildbot's."""
    lines = {branch: _line(home, branch) for branch in ("main", *STABLE, FORK)}
    own = dict(_own(lines))
    forks = {name: len(line) - len(own[name]) for name, line in lines.items()}
    connection.execute(
        sa.insert(BRANCH),
        [
            {"name": name, "trunk": "main" if forks[name] else None, "fork_position": forks[name]}
            for name in lines
        ],
    )
    commits = list(_numbered(own, forks))
    connection.execute(sa.insert(COMMIT), [_commit(one) for one in commits])
    connection.execute(sa.insert(IMAGE), [_image(one) for one in commits])
    _measure(connection, commits)
    _judge(connection, [one for one in commits if one.branch == "main"])
    _search(connection, lines["main"], size, first_probe=len(commits) * len(series()) + 1)


def _line(home: Path, branch: str) -> list[str]:
    place, name = home / (repository_of(branch) or "src"), name_in_repository(branch)
    command = ["git", "-C", str(place), "rev-list", "--reverse", "--first-parent", name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603


def _own(lines: dict[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Of each branch what it has since it parted from main; another repository shares nothing."""
    main = set(lines["main"])
    for branch, line in lines.items():
        alone = branch in {"main", FORK}
        yield branch, line if alone else [sha for sha in line if sha not in main]


def _numbered(own: dict[str, list[str]], forks: dict[str, int]) -> Iterator[Commit]:
    number = 0
    for branch, shas in own.items():
        for position, sha in enumerate(shas, start=forks[branch] + 1):
            number += 1
            yield Commit(branch=branch, sha=sha, position=position, number=number)


def _commit(one: Commit) -> Row:
    return {
        "branch": one.branch,
        "sha": one.sha,
        "position": one.position,
        "subject": f"Change {one.number}",
        "author": "A Committer <committer@example.org>",
        "committed_at_s": int(one.at_s),
        "important": True,
        "arrived_at": one.at_s,
    }


def _image(one: Commit) -> Row:
    return {
        "id": one.number,
        "sha": one.sha,
        "variant": one.sha,
        "ordinal": 0,
        "position": one.position,
        "label": f"n{one.position}",
        "state": "built",
        "digest": f"{one.number:064x}",
        "branch": one.branch,
        "repository": repository_of(one.branch),
        "created_at": one.at_s,
        "changed_at": one.at_s,
        "version": 0,
    }


def _measure(connection: sa.Connection, commits: Sequence[Commit]) -> None:
    """Boots vary by 0.8 %, images by 1 %."""
    chance = random.Random(1)
    probes: list[Row] = []
    number = 0
    for one in commits:
        for testbed, workload in series():
            number += 1
            probes.append(_probe(number, one, testbed, workload))
        if len(probes) >= _CHUNK or one is commits[-1]:
            connection.execute(sa.insert(PROBE), probes)
            connection.execute(sa.insert(ITERATION), list(_iterations(probes, chance)))
            probes.clear()


def _probe(number: int, one: Commit, testbed: str, workload: str, **columns: Any) -> Row:
    return {
        "id": number,
        "key": f"load:{number}",
        "token": f"load-{number}",
        "image_id": one.number,
        "testbed": testbed,
        "workload": workload,
        "epoch": "1",
        "iterations": BOOTS,
        "priority": 10,
        "reason": "commit",
        "search_id": None,
        "state": "done",
        "brid": None,
        "judged": True,
        "created_at": one.at_s,
        "issued_at": one.at_s,
        "ended_at": one.at_s,
        "version": 0,
    } | columns


def _iterations(probes: Sequence[Row], chance: random.Random) -> Iterator[Row]:
    for probe in probes:
        image = 1e6 * chance.gauss(1, 0.01)
        for ordinal in range(BOOTS):
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
                "at_s": probe["ended_at"] + ordinal,
                "duration_s": 95.0,
                "facts": {},
                "log": "",
            }


def _judge(connection: sa.Connection, commits: Sequence[Commit]) -> None:
    """A verdict now and then, of which each tenth is an improvement."""
    rows = [
        {
            "testbed": testbed,
            "workload": workload,
            "unit": "pps",
            "old_sha": old.sha,
            "old_position": old.position,
            "new_sha": new.sha,
            "new_position": new.position,
            "state": "improvement" if (place + nth) % 10 == 0 else "nothing",
            "rounds": 1,
            "created_at": new.at_s,
            "changed_at": new.at_s,
            "branch": new.branch,
            "version": 0,
        }
        for nth, (old, new) in enumerate(pairwise(commits))
        if nth % _JUDGED_EACH == 0
        for place, (testbed, workload) in enumerate(series())
    ]
    connection.execute(sa.insert(JUDGEMENT), rows)


def _search(connection: sa.Connection, main: Sequence[str], size: Size, first_probe: int) -> None:
    """Those that ended, and those that wait for a boot; the commits of all series wait, too."""
    last, every = len(main), series()
    ended = _CLOSED_EACH * size.searches
    rows = []
    for number in range(1, ended + size.searches + 1):
        new = max(last - number * last // (2 * (ended + size.searches)), _RANGE + 1)
        rows.append(_search_row(number, main, new, every[number % len(every)], number <= ended))
    connection.execute(sa.insert(SEARCH), rows)
    brids = _requests(connection, [row["testbed"] for row in rows[ended:]])
    waiting = [
        _probe(
            first_probe + nth,
            Commit(branch="main", sha="", position=0, number=row["new_position"] - _RANGE // 2),
            row["testbed"],
            row["workload"],
            key=f"load-search:{row['id']}",
            token=f"load-search-{row['id']}",
            iterations=1,
            priority=20,
            reason="search",
            search_id=row["id"],
            state="issued",
            brid=brid,
            judged=False,
            ended_at=None,
        )
        for nth, (row, brid) in enumerate(zip(rows[ended:], brids, strict=True))
    ]
    connection.execute(sa.insert(PROBE), waiting)


_STEP = Step(old=60, new=61, effect=-0.1, low=-0.11, high=-0.09, probability=0.995)
_FOUND = Answer(steps=(_STEP,), reproduced=True, unresolved=(), reason="located")


def _search_row(
    number: int, main: Sequence[str], new: int, one: tuple[str, str], has_ended: bool
) -> Row:
    testbed, workload = one
    at_s = START_S + new * _MINUTE_S
    return {
        "id": number,
        "key": f"load:{number}",
        "branch": "main",
        "testbed": testbed,
        "workload": workload,
        "unit": "pps",
        "old_sha": main[new - _RANGE - 1],
        "old_position": new - _RANGE,
        "new_sha": main[new - 1],
        "new_position": new,
        "claimed": -0.1,
        "min_effect": 0.02,
        "error": 0.01,
        "reason": "alarm",
        "requester": "",
        "state": "found" if has_ended else "running",
        "answer": _FOUND if has_ended else None,
        "stated": NOTHING_STATED if has_ended else None,
        "created_at": at_s,
        "ended_at": at_s if has_ended else None,
        "version": 0,
    }


def _requests(connection: sa.Connection, testbeds: Sequence[str]) -> list[int]:
    """Build requests that nobody has claimed yet, as Buildbot keeps them; their numbers."""
    query = sa.select(Model.builders.c.name, Model.builders.c.id)
    builders = {row.name: row.id for row in connection.execute(query)}
    numbers = range(10_001, 10_001 + len(testbeds))
    sets = [{"id": n, "submitted_at": START_S, "complete": 0, "results": -1} for n in numbers]
    requests = [
        {
            "id": n,
            "buildsetid": n,
            "builderid": builders[f"bench/{testbed}"],
            "priority": 20,
            "complete": 0,
            "results": -1,
            "submitted_at": START_S,
        }
        for n, testbed in zip(numbers, testbeds, strict=True)
    ]
    connection.execute(sa.insert(Model.buildsets), sets)
    connection.execute(sa.insert(Model.buildrequests), requests)
    return list(numbers)
