"""The invariants of a farm after any fault; each violation is a line of text."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError
from buildbot_bench.demo.verifying import verify
from tests.chaos.demand import Client
from tests.chaos.farm import ChaosFarm
from tests.chaos.post import Taken
from tests.chaos.truth import WORKLOAD, explains
from tests.e2e.checks import steps_of

_ANSWERED, _INFRASTRUCTURE = 0, 4
# What a command says that lost the farm after it had begun to follow; before, it may give up.
_LOST = "goes on with the farm"
_PATIENCE_S = 240.0
_LOOK_S = 2.0
_OPEN = (
    "SELECT count(*) FROM bench_search WHERE ended_at IS NULL",
    "SELECT count(*) FROM bench_ab_test WHERE ended_at IS NULL",
    "SELECT count(*) FROM bench_probe WHERE state IN ('new', 'issued')",
    "SELECT count(*) FROM bench_image WHERE state IN ('wanted', 'building')",
    "SELECT count(*) FROM bench_report WHERE state IN ('new', 'sending')",
)

_OF_A_COMPARISON = {
    "probe": "SELECT * FROM bench_probe WHERE ab_test_id = :id ORDER BY id",
    "image": (
        "SELECT * FROM bench_image WHERE id IN"
        " (SELECT image_id FROM bench_ab_test_variant WHERE ab_test_id = :id)"
    ),
    "further": (
        "SELECT more.*, image.state, image.reason FROM bench_ab_test_image more"
        " JOIN bench_image image ON image.id = more.image_id WHERE more.ab_test_id = :id"
    ),
}


def contradictions(farm: ChaosFarm, *, idle: bool) -> list[str]:
    """What `bench-farm verify` finds; what passes within minutes was on its way."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        farm.supervise()
        try:
            found = [
                f"{one.row}: {one.problem}" for one in verify(farm.place, idle=idle).violations
            ]
        except (InfraError, sa.exc.OperationalError) as error:
            found = [f"verify: {error}"]  # a connection that was just dropped
        if not found or time.monotonic() > deadline_s:
            return found
        time.sleep(_LOOK_S)


def is_busy(farm: ChaosFarm) -> list[str]:
    """What is still open, in the words of the query that says so."""
    return [query for query in _OPEN if farm.value(query)]


def open_rows(farm: ChaosFarm) -> Iterator[str]:
    """What is known of the comparisons that are open, and of the series that they wait for."""
    for one in farm.rows("SELECT * FROM bench_ab_test WHERE ended_at IS NULL"):
        yield f"open: {_told(one)}"
        for table, query in _OF_A_COMPARISON.items():
            for row in farm.rows(query, id=one["id"]):
                yield f"  {table}: {_told(row)}"
    failed = "SELECT * FROM bench_probe WHERE failure_kind IS NOT NULL ORDER BY id DESC LIMIT 20"
    for row in farm.rows(failed):
        yield f"failed: {_told(row)}"


def _told(row: Mapping[str, object]) -> str:
    return " ".join(f"{name}={str(value)[:80]}" for name, value in row.items() if value is not None)


def wrong_answers(farm: ChaosFarm) -> Iterator[str]:
    """The searches and comparisons that ended with another answer than on a farm without chaos.

    A person's search has one step in its range. An alarm's may have several; see `explains`.
    """
    ended = "WHERE ended_at IS NOT NULL ORDER BY id"
    for row in farm.rows(f"SELECT id, workload, reason FROM bench_search {ended}"):
        (search,) = farm.get(f"searches/{row['id']}")["searches"]
        ends = search["old"]["label"], search["new"]["label"]
        found = steps_of(search["report"]) if search["state"] == "found" else []
        there = farm.truth.within(*ends) if row["workload"] == WORKLOAD else []
        if not explains(found, there):
            told = f"is {search['state']} with {found}"
            yield f"search {row['id']} of {ends} by {row['reason']} {told}; there are {there}"
    for row in farm.rows(f"SELECT id FROM bench_ab_test {ended}"):
        (comparison,) = farm.get(f"comparisons/{row['id']}")["comparisons"]
        yield from _wrong_comparison(farm, row["id"], comparison)


def _wrong_comparison(farm: ChaosFarm, number: int, comparison: dict) -> Iterator[str]:
    report = comparison["report"]
    if comparison["state"] != "done" or report is None:
        yield f"comparison {number} is {comparison['state']}: {comparison.get('detail')}"
        return
    ends = [variant["label"] for variant in report["variants"]]
    ((_, _, sign),) = farm.truth.within(*ends)
    verdicts = [change["verdict"] for one in report["series"] for change in one["changes"]]
    if verdicts != ["better" if sign > 0 else "worse"]:
        yield f"comparison {number} of {ends} says {verdicts}"


def wrong_mails(farm: ChaosFarm, interruptions: Sequence[float]) -> Iterator[str]:
    """Mails that came twice, or that no row tells of; `interruptions`: when something was struck.

    A sender that is ended before it has noted the server's answer has to send the same again, and
    so has one that never got the answer.
    """
    rows = farm.rows("SELECT message_id, state FROM bench_report")
    known = {row["message_id"] for row in rows}
    taken: dict[str, list[Taken]] = {}
    for mail in farm.post.taken:
        taken.setdefault(mail.message_id, []).append(mail)
    for message_id, mails in taken.items():
        if message_id not in known:
            yield f"mail {message_id} ({mails[0].subject}) is in no table"
        for first, again in pairwise(mails):
            excused = any(first.at_s - 1 <= at_s <= again.at_s for at_s in interruptions)
            if not (first.kept_silent or excused):
                yield f"mail {message_id} ({first.subject}) was sent again"
    for row in rows:
        if row["state"] == "sent" and row["message_id"] not in taken:
            yield f"mail {row['message_id']} is told to be sent, and never came"


def failed_clients(ended: Sequence[tuple[Client, int]]) -> Iterator[str]:
    """The commands that nobody killed and that did not end with an answer."""
    for client, status in ended:
        said = client.said.read_text(errors="replace")
        never_began = status == _INFRASTRUCTURE and _LOST not in said
        if status != _ANSWERED and not never_began:
            yield f"{' '.join(client.command)} ended with {status}: {said[-200:]!r}"
