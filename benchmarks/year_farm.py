"""The tables and files of a farm that has lived a year, written as the farm would have."""

import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from buildbot.db.model import Model
from buildbot.util.sautils import hash_columns

from benchmarks.many_labs import Size, workflow
from benchmarks.many_rows import CULPRIT, RANGE, Commit, Past, Row, fill, searched
from buildbot_bench.api.answers import AbTestState
from buildbot_bench.plugin.db.ab_test_rows import AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.ab_tests import add_ab_test
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.db.finding_rows import Recovery
from buildbot_bench.plugin.db.schema import AB_TEST, IMAGE, METADATA, PROBE, REPORT, SEARCH
from buildbot_bench.plugin.db.sql import analyse, take_write_lock, upgrade

YEAR_S = 365 * 24 * 3600.0
DAY_S = 24 * 3600.0
KEEP_DAYS, LOGS_DAYS = 30, 90
# The retention works once a day; it was off for so long.
LATE_DAYS = 4
UNTOLD = 5  # searches that ended last, whose mails nobody wrote yet
DROP = -0.08
REPLACED_AT = 0.6  # of the year: the first testbed got another DUT, which is faster
FASTER = 1.3
LOG = "seconds 1 to 30: main_thread [2567] 1.41 Mpps (1.41 Mpkts 676.80 Mbps in 1000999 usec)\n" * 8
_COMPARED = 40
_CHUNK = 20_000


def settings(home: Path, size: Size, smtp_port: int) -> str:
    """The farm's bench.yml."""
    return (
        f"{workflow(home, size)}\n"
        f"artefacts: {{retention: {{keep-days: {KEEP_DAYS}, logs-days: {LOGS_DAYS}}}}}\n"
        f"mail: {{from: bench@example.org, to: [net@example.org], smtp-port: {smtp_port}}}\n"
    )


@dataclass(frozen=True, kw_only=True)
class Year(Past):
    """Levels fall and come back, kernels and logs expire, and a testbed gets another DUT."""

    size: Size
    main: int  # how many commits it has

    def at_s(self, number: int) -> float:
        """Main and the other branches have the whole year each."""
        others = max(self.size.commits - self.main, 1)
        share = number / self.main if number <= self.main else (number - self.main) / others
        return self.began_s + min(share, 1.0) * YEAR_S

    def log(self, one: Commit) -> str:
        """Those of older boots were deleted."""
        return LOG if self._is_younger(one.at_s, LOGS_DAYS) else ""

    def is_built(self, number: int) -> bool:
        """What reports stand on stays."""
        return self._is_younger(self.at_s(number), KEEP_DAYS) or number in self._reported

    def kernel(self, number: int) -> tuple[str, int | None]:
        """A few bytes: how large a kernel is, makes no difference to the tables."""
        content = kernel_of(number)
        digest = hashlib.sha256(content).hexdigest()
        return digest, len(content) if self.is_built(number) else None

    def level(self, testbed: str, workload: str, one: Commit) -> float:
        """What the culprits before a commit have left of it."""
        if one.branch != "main":
            return 1.0
        steps = self._steps.get((testbed, workload), ())
        level = FASTER if self.epoch(testbed, one) == "2" else 1.0
        for position, effect in steps:
            level *= 1 + effect if position <= one.position else 1.0
        return level

    def epoch(self, testbed: str, one: Commit) -> str:
        """The replaced DUT's differs."""
        is_replaced = testbed == self.size.testbeds[0]
        return "2" if is_replaced and one.at_s >= self.began_s + REPLACED_AT * YEAR_S else "1"

    def effect(self, search: int) -> float:
        """On each series one search finds a drop, and the next one that it is over; the last, one.

        So the mails that nobody wrote yet are of drops: those of what became better are withheld.
        """
        before_last = (self.size.ended - search) // len(self.size.series)
        return 1 / (1 + DROP) - 1 if before_last % 2 else DROP

    def _is_younger(self, at_s: float, days: int) -> bool:
        return at_s > self.began_s + YEAR_S - (days + LATE_DAYS) * DAY_S

    @cached_property
    def ranges(self) -> dict[int, tuple[tuple[str, str], int]]:
        """Of each search that ended its series and the old end of its range."""
        ends = {n: searched(self.size, self.main, n) for n in range(1, self.size.ended + 1)}
        return {n: (series, new - RANGE) for n, (series, new) in ends.items()}

    @cached_property
    def _reported(self) -> set[int]:
        sides = (0, CULPRIT - 1, CULPRIT, RANGE)
        return {old + side for _, old in self.ranges.values() for side in sides}

    @cached_property
    def _steps(self) -> dict[tuple[str, str], list[tuple[int, float]]]:
        found: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for number, (series, old) in self.ranges.items():
            found.setdefault(series, []).append((old + CULPRIT, self.effect(number)))
        return found


def kernel_of(number: int) -> bytes:
    """The bytes of a commit's kernel."""
    return f"kernel {number}\n".encode()


def live(url: sa.URL, home: Path, size: Size, now_s: float) -> None:
    """Fill a database in which nothing but Buildbot has made its tables."""
    year = Year(began_s=now_s - YEAR_S, size=size, main=_length(home / "src"))
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        take_write_lock(connection)
        upgrade(connection)
        names = [f"bench/{name}" for name in size.testbeds]
        builders = [{"name": name, "name_hash": hash_columns(name)} for name in names]
        connection.execute(sa.insert(Model.builders), builders)
        fill(connection, home, size, year)
        _recover(connection, year)
        _tell(connection, year)
        _compare(connection, year)
        _build(connection)
        if connection.dialect.name == "postgresql":
            _count_on(connection)
    with engine.begin() as connection:  # as each day, and as PostgreSQL does by itself
        analyse(connection)
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("ANALYZE")
    engine.dispose()


def keep_kernels(url: sa.URL, artefacts: Path) -> int:
    """Write the files of all kernels that are there; their number."""
    built = sa.select(IMAGE.c.id, IMAGE.c.digest).where(IMAGE.c.state == ImageState.BUILT)
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        kept = connection.execute(built).all()
    for number, digest in kept:
        place = artefacts / digest[:2]
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (place / digest).write_bytes(kernel_of(number))
    return len(kept)


def _length(repository: Path) -> int:
    command = ["git", "-C", str(repository), "rev-list", "--count", "--first-parent", "main"]
    return int(subprocess.run(command, check=True, capture_output=True).stdout)  # noqa: S603


def _recover(connection: sa.Connection, year: Year) -> None:
    """Each drop is over where the next search of its series found that it was."""
    query = sa.select(*SEARCH.c["id", "testbed", "workload", "old_position", "claimed"])
    rows = connection.execute(query.where(SEARCH.c.ended_at.is_not(None)).order_by(SEARCH.c.id))
    series: dict[tuple[str, str], list[sa.Row[Any]]] = {}
    for row in rows:
        series.setdefault((row.testbed, row.workload), []).append(row)
    pairs = [pair for of_one in series.values() for pair in pairwise(of_one) if pair[0].claimed < 0]
    recoveries = [
        {"search": drop.id, "how": _recovery(connection, year, rise.old_position + CULPRIT)}
        for drop, rise in pairs
    ]
    if recoveries:
        how = sa.bindparam("how", type_=SEARCH.c.recovery.type)
        found = sa.update(SEARCH).where(SEARCH.c.id == sa.bindparam("search"))
        connection.execute(found.values(recovery=how), recoveries)


def _recovery(connection: sa.Connection, year: Year, position: int) -> Recovery:
    query = sa.select(IMAGE.c.sha, IMAGE.c.label).where(IMAGE.c.id.in_((position - 1, position)))
    old, new = connection.execute(query.order_by(IMAGE.c.id)).all()
    return Recovery(
        old_sha=old.sha,
        old_label=old.label,
        old_position=position - 1,
        new_sha=new.sha,
        new_label=new.label,
        new_position=position,
        at_s=year.at_s(position),
        difference=0.0,
    )


def _tell(connection: sa.Connection, year: Year) -> None:
    """The mail of each search but the newest, and of each end of an incident."""
    query = sa.select(SEARCH.c.id, SEARCH.c.ended_at, SEARCH.c.recovery)
    ended = connection.execute(query.where(SEARCH.c.ended_at.is_not(None))).all()
    told = [row for row in ended if row.id <= year.size.ended - UNTOLD]
    mails = [_mail(f"search:{row.id}", row.id, row.ended_at) for row in told]
    over = [(row.id, row.recovery.at_s) for row in told if row.recovery]
    mails += [_mail(f"recovery:{number}", None, at_s) for number, at_s in over]
    if mails:
        connection.execute(sa.insert(REPORT), mails)


def _mail(key: str, search: int | None, at_s: float) -> Row:
    message = EmailMessage()
    message["Subject"], message["To"] = f"A mail of {key}", "net@example.org"
    message["Message-ID"] = f"<{key.replace(':', '.')}@example.org>"
    message.set_content("What it said a year ago.\n" * 60)
    return {
        "key": key,
        "search_id": search,
        "state": "sent",
        "message_id": message["Message-ID"],
        "subject": message["Subject"],
        "recipients": ["net@example.org"],
        "message": message.as_bytes(),
        "attempts": 1,
        "next_try_at": at_s,
        "created_at": at_s,
        "sent_at": at_s,
        "version": 0,
    }


def _compare(connection: sa.Connection, year: Year) -> None:
    """Comparisons of two commits each, whose boots are those that were there."""
    for nth in range(1, _COMPARED + 1):
        series = year.size.series[nth % len(year.size.series)]
        new = year.main - nth
        sides = [AbTestVariant(image_id=n, tunables="", variant=f"n{n}", label=f"n{n}")
                 for n in (new - 1, new)]  # fmt: skip
        wanted = NewAbTest(
            variants=sides,
            series=[series],
            iterations=2,
            confidence=95.0,
            min_effect=0.02,
            requester="ann",
            state=AbTestState.DONE,
        )
        at_s = year.at_s(new)
        added = add_ab_test(connection, wanted, now=at_s)
        is_it = AB_TEST.c.id == added.id
        connection.execute(sa.update(AB_TEST).where(is_it).values(ended_at=at_s))
        boots = sa.update(PROBE).where(PROBE.c.image_id.in_((new - 1, new)))
        connection.execute(
            boots.where(PROBE.c.testbed == series[0], PROBE.c.workload == series[1]).values(
                ab_test_id=added.id
            )
        )


def _build(connection: sa.Connection) -> None:
    """A build in Buildbot's own tables for each request that ended."""
    builders = {row.name: row.id for row in connection.execute(sa.select(Model.builders))}
    before = {"name": "before", "name_hash": hash_columns("before"), "active": 0, "last_active": 0}
    added = sa.insert(Model.masters).values(before).returning(Model.masters.c.id)
    master = connection.execute(added).scalar_one()
    probes = connection.execute(
        sa.select(PROBE.c.id, PROBE.c.testbed, PROBE.c.ended_at).where(PROBE.c.state == "done")
    ).all()
    first = 100_000  # behind those that wait
    for start in range(0, len(probes), _CHUNK):
        rows = list(_builds(probes[start : start + _CHUNK], builders, first, master))
        for table, of_it in zip(
            (Model.buildsets, Model.buildrequests, Model.builds), zip(*rows, strict=True),
            strict=True,
        ):  # fmt: skip
            connection.execute(sa.insert(table), list(of_it))


def _builds(
    probes: Sequence[sa.Row[Any]], builders: dict[str, int], first: int, master: int
) -> Iterator[tuple[Row, Row, Row]]:
    for probe in probes:
        number, at_s = first + probe.id, int(probe.ended_at)
        ended = {"id": number, "complete": 1, "complete_at": at_s, "results": 0}
        builder = builders[f"bench/{probe.testbed}"]
        yield (
            {**ended, "submitted_at": at_s},
            {**ended, "submitted_at": at_s, "buildsetid": number, "builderid": builder,
             "priority": 0},
            {"id": number, "number": number, "builderid": builder, "buildrequestid": number,
             "masterid": master, "started_at": at_s, "complete_at": at_s, "locks_duration_s": 0,
             "results": 0, "state_string": "build successful"},
        )  # fmt: skip


def _count_on(connection: sa.Connection) -> None:
    """Have PostgreSQL's numbers go on behind the rows that were given theirs."""
    for table in (*METADATA.sorted_tables, *Model.metadata.sorted_tables):
        if "id" in table.c:
            last = sa.select(sa.func.coalesce(sa.func.max(table.c.id), 1)).scalar_subquery()
            connection.execute(sa.select(sa.func.setval(f"{table.name}_id_seq", last)))
