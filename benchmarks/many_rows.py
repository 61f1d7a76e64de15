"""The rows of a farm of many testbeds, written straight into its tables.

Each series has measured each commit, most of which changed nothing. Each of the open searches
waits for a boot. `Past` says what the kernels and the labs were meanwhile.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from buildbot.db.model import Model

from benchmarks.many_labs import FORK, STABLE, Size
from buildbot_bench.core.metric import Metric, pack, pack_names
from buildbot_bench.core.revision import name_in_repository, repository_of
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.db.schema import (
    ARTEFACT,
    BRANCH,
    COMMIT,
    IMAGE,
    ITERATION,
    JUDGEMENT,
    PROBE,
    SEARCH,
    VALUE_NAMES,
)
from buildbot_bench.plugin.db.schema import VALUES as NAMED

Row = dict[str, Any]

START_S = 1_700_000_000
BOOTS = 2
VALUES = 1000  # by name, of each first boot of the first series
RANGE, CULPRIT = 128, 61  # of a search: its commits, and which of them it found
_JUDGED_EACH = 50
_CHUNK = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What happened meanwhile: a commit each `between_s`, and nothing else."""

    began_s: float = START_S
    between_s: float = 60.0

    def log(self, one: Commit) -> str:
        """What each boot of a commit said."""
        del one
        return ""

    def is_built(self, number: int) -> bool:
        """Whether a commit's artefact is there; else it was, and was dropped."""
        del number
        return True

    def kernel(self, number: int) -> tuple[str, int | None]:
        """The digest of a commit's artefact and its size, None where none is kept."""
        return f"{number:064x}", None

    def level(self, testbed: str, workload: str, one: Commit) -> float:
        """The level of a series at a commit, as a fraction of what it was at first."""
        del testbed, workload, one
        return 1.0

    def epoch(self, testbed: str, one: Commit) -> str:
        """The testbed's epoch when the commit was measured."""
        del testbed, one
        return "1"

    def is_judged(self, one: Commit) -> bool:
        """Whether the judge looked at the commit's samples."""
        del one
        return True

    def effect(self, search: int) -> float:
        """The effect of the culprit of a search that ended."""
        del search
        return -0.1

    def at_s(self, number: int) -> float:
        """When a commit came, and was built and measured."""
        return self.began_s + number * self.between_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """A commit of a branch's own, and its number: that of its rows."""

    branch: str
    sha: str
    position: int
    number: int
    at_s: float


NOTHING_HAPPENED = Past()


def fill(connection: sa.Connection, home: Path, size: Size, past: Past = NOTHING_HAPPENED) -> None:
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
    commits = list(_numbered(own, forks, past))
    connection.execute(sa.insert(COMMIT), [_commit(one) for one in commits])
    connection.execute(sa.insert(IMAGE), [_image(one, past) for one in commits])
    if kept := [row for one in commits if (row := _artefact(one, past))]:
        connection.execute(sa.insert(ARTEFACT), kept)
    _measure(connection, commits, size, past)
    _name_values(connection, size.series[0])
    _judge(connection, [one for one in commits if one.branch == "main"], size)
    _search(connection, lines["main"], size, past, len(commits) * len(size.series) + 1)


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


def _numbered(own: dict[str, list[str]], forks: dict[str, int], past: Past) -> Iterator[Commit]:
    number = 0
    for branch, shas in own.items():
        for position, sha in enumerate(shas, start=forks[branch] + 1):
            number += 1
            at_s = past.at_s(number)
            yield Commit(branch=branch, sha=sha, position=position, number=number, at_s=at_s)


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


def _artefact(one: Commit, past: Past) -> Row | None:
    digest, size = past.kernel(one.number)
    return {"digest": digest, "size": size, "stored_at": one.at_s} if size else None


def _image(one: Commit, past: Past) -> Row:
    digest, size = past.kernel(one.number)
    return {
        "id": one.number,
        "sha": one.sha,
        "variant": one.sha,
        "ordinal": 0,
        "position": one.position,
        "label": f"n{one.position}",
        "state": "built" if past.is_built(one.number) else "dropped",
        "digest": digest,
        "size": size,
        "branch": one.branch,
        "repository": repository_of(one.branch),
        "created_at": one.at_s,
        "changed_at": one.at_s,
        "version": 0,
    }


def _measure(connection: sa.Connection, commits: Sequence[Commit], size: Size, past: Past) -> None:
    """Boots vary by 0.8 %, images by 1 %."""
    chance = random.Random(1)
    probes: list[Row] = []
    boots: list[Row] = []
    number = 0
    for one in commits:
        for testbed, workload in size.series:
            number += 1
            told = {"epoch": past.epoch(testbed, one), "judged": past.is_judged(one)}
            probes.append(_probe(number, one, testbed, workload, **told))
            image = 1e6 * past.level(testbed, workload, one) * chance.gauss(1, 0.01)
            values = [image * chance.gauss(1, 0.008) for _ in range(BOOTS)]
            boots += _iterations(probes[-1], values, past.log(one))
        if len(probes) >= _CHUNK or one is commits[-1]:
            connection.execute(sa.insert(PROBE), probes)
            connection.execute(sa.insert(ITERATION), boots)
            probes.clear()
            boots.clear()


def _name_values(connection: sa.Connection, series: tuple[str, str]) -> None:
    """Each first boot of a series gave VALUES values by their names."""
    chance = np.random.default_rng(1)
    names = [Metric(name=f"BM_{n}", unit="ns", higher_is_better=False) for n in range(VALUES)]
    digest, body = pack_names(names)
    of = dict(zip(("testbed", "workload"), series, strict=True))
    connection.execute(sa.insert(VALUE_NAMES), [{"id": 1, **of, "digest": digest, "body": body}])
    boots = sa.select(ITERATION.c.id).filter_by(**of, ordinal=0, tunables="")
    numbers = connection.execute(boots).scalars().all()
    for start in range(0, len(numbers), _CHUNK // 20):
        rows = [
            {
                "iteration_id": number,
                "names_id": 1,
                "body": pack(chance.lognormal(5.0, 0.005, VALUES).tolist()),
            }
            for number in numbers[start : start + _CHUNK // 20]
        ]
        connection.execute(sa.insert(NAMED), rows)


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


def _iterations(probe: Row, values: Sequence[float], log: str) -> Iterator[Row]:
    for ordinal, value in enumerate(values):
        yield {
            "probe_id": probe["id"],
            "image_id": probe["image_id"],
            "testbed": probe["testbed"],
            "workload": probe["workload"],
            "epoch": probe["epoch"],
            "ordinal": ordinal,
            "unit": "pps",
            "is_primary": True,
            "value": value,
            "at_s": probe["ended_at"] + ordinal,
            "duration_s": 95.0,
            "facts": {"os": "15"},
            "log": log,
        }


def _judge(connection: sa.Connection, commits: Sequence[Commit], size: Size) -> None:
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
        for place, (testbed, workload) in enumerate(size.series)
    ]
    connection.execute(sa.insert(JUDGEMENT), rows)


def searched(size: Size, last: int, number: int) -> tuple[tuple[str, str], int]:
    """The series of a search, by its number, and the new end of its range on a main of `last`.

    They follow one another over the newer half of it.
    """
    searches = size.ended + size.searches
    share = (searches - number) * last // (2 * searches)
    return size.series[number % len(size.series)], max(last - share, RANGE + 1)


def _search(
    connection: sa.Connection, main: Sequence[str], size: Size, past: Past, first_probe: int
) -> None:
    """Those that ended, and those that wait for a boot; the commits of all series wait, too."""
    ended = size.ended
    rows = [_search_row(number, main, size, past) for number in range(1, ended + size.searches + 1)]
    connection.execute(sa.insert(SEARCH), rows)
    if not size.searches:
        return
    brids = _requests(connection, [row["testbed"] for row in rows[ended:]])
    waiting = [
        _probe(
            first_probe + nth,
            _middle(row["new_position"] - RANGE // 2, past),
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


def _middle(number: int, past: Past) -> Commit:
    return Commit(branch="main", sha="", position=0, number=number, at_s=past.at_s(number))


def _found(effect: float) -> Answer:
    step = Step(
        old=CULPRIT - 1,
        new=CULPRIT,
        effect=effect,
        low=effect - 0.01,
        high=effect + 0.01,
        probability=0.995,
    )
    return Answer(steps=(step,), reproduced=True, unresolved=(), reason="located")


def _search_row(number: int, main: Sequence[str], size: Size, past: Past) -> Row:
    (testbed, workload), new = searched(size, len(main), number)
    has_ended = number <= size.ended
    at_s, effect = past.at_s(new), past.effect(number)
    return {
        "id": number,
        "key": f"load:{number}",
        "branch": "main",
        "testbed": testbed,
        "workload": workload,
        "unit": "pps",
        "old_sha": main[new - RANGE - 1],
        "old_position": new - RANGE,
        "new_sha": main[new - 1],
        "new_position": new,
        "claimed": effect,
        "min_effect": 0.02,
        "error": 0.01,
        "reason": "alarm",
        "requester": "",
        "state": "found" if has_ended else "running",
        "answer": _found(effect) if has_ended else None,
        "stated": _found(effect) if has_ended else None,
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
