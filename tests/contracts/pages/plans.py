"""Databases' plans of queries on tables of a million rows."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

# The tables that grow with each commit and boot, and those that grow with each alarm: a row of
# theirs has a whole mail, or a whole answer.
LARGE = (
    "bench_commit",
    "bench_image",
    "bench_probe",
    "bench_iteration",
    "bench_values",
    "bench_judgement",
    "bench_search",
    "bench_report",
)
_SCAN = re.compile(rf"^SCAN ({'|'.join(LARGE)})\b")
_SEQUENCE = re.compile(rf"Seq Scan on ({'|'.join(LARGE)})\b")
# What ANALYZE found in the farm of `make load`: 10 000 commits on 100 series.
_STATISTICS = {
    ("bench_commit", "bench_commit_sha"): "10000 1",
    ("bench_commit", "bench_commit_svn"): "10000 1001",
    ("bench_commit", "sqlite_autoindex_bench_commit_1"): "10000 501 1",
    ("bench_commit", "sqlite_autoindex_bench_commit_2"): "10000 501 1",
    ("bench_image", "bench_image_position_version_repository"): "10000 2 2 1",
    ("bench_image", "bench_image_state"): "10000 1001",
    ("bench_image", "sqlite_autoindex_bench_image_1"): "10000 5000 1 1",
    ("bench_probe", "bench_probe_ab_test_id"): "1000000 1001",
    ("bench_probe", "bench_probe_failed"): "1000 501 2",
    ("bench_probe", "bench_probe_image_id_testbed_workload"): "1000000 91 2 1",
    ("bench_probe", "bench_probe_search_id"): "1000000 11",
    ("bench_probe", "bench_probe_state_judged"): "1000000 550 550",
    ("bench_probe", "bench_probe_testbed_reason"): "1000000 1001 1001",
    ("bench_probe", "bench_probe_token"): "1000000 1",
    ("bench_probe", "bench_probe_undone"): "1000 501 20 10",
    ("bench_probe", "sqlite_autoindex_bench_probe_1"): "1000000 1",
    ("bench_iteration", "bench_iteration_series"): "2000000 1001 1001 1001 2 2 2 2 1 1 1",
    ("bench_iteration", "sqlite_autoindex_bench_iteration_1"): "2000000 2 1 1",
    ("bench_values", "sqlite_autoindex_bench_values_1"): "1000000 1",
    ("bench_judgement", "bench_judgement_new_sha"): "16000 91",
    ("bench_judgement", "bench_judgement_search_id"): "16000 16",
    ("bench_judgement", "bench_judgement_state"): "16000 1001",
    ("bench_judgement", "bench_judgement_state_new_position"): "16000 1001 91",
    ("bench_judgement", "sqlite_autoindex_bench_judgement_1"): "16000 334 167 1 1",
}

# The first or last rows in the order of their numbers: the limit ends the scan.
_IN_ORDER = re.compile(r"ORDER BY bench_\w+\.id( DESC)?\s+LIMIT")
# What reads all of a table, and why it may.
_MAY = {
    "bench_image.variant LIKE": "patches that nobody approved, once an hour",
    "bench_probe.state IN (?, ?) OR bench_probe.reason": "what retention must keep, once a day",
    "count(*) AS count_1": "the metrics count all rows",
    "bench_search.recovery IS NOT NULL": "incidents that are over, when a search or mail changes",
    "FROM bench_search ORDER BY bench_search.id DESC": "what retention must keep, once a day",
    'bench_report."key" LIKE': "the mails of a kind, when a mail was added",
    "bench_report.sent_at >": "the mails of a week, once a week",
}

Statement = tuple[str, object]


@contextmanager
def recorded(engine: sa.Engine) -> Iterator[dict[str, Statement]]:
    """The queries that are asked meanwhile, by their text, each with one choice of parameters."""
    found: dict[str, Statement] = {}

    def note(_conn, _cursor, statement, parameters, _context, many) -> None:
        if statement.startswith("SELECT") and "bench_" in statement and not many:
            found[statement] = (statement, parameters)

    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)


def pretend_large(engine: sa.Engine) -> None:
    """Have SQLite believe that the tables hold a million rows."""
    with engine.begin() as conn:
        conn.exec_driver_sql("ANALYZE")
        there = conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'index'")
        unknown = {index for _, index in _STATISTICS} - set(there.scalars())
        assert not unknown, f"indexes that were renamed or dropped: {unknown}"
        conn.exec_driver_sql("DELETE FROM sqlite_stat1")
        for (table, index), stat in _STATISTICS.items():
            conn.exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", (table, index, stat))
    engine.dispose()  # statistics are read when a connection is made


def full_scans(engine: sa.Engine, statements: dict[str, Statement]) -> dict[str, list[str]]:
    """By query the lines of its plan that read all of a large table."""
    if engine.dialect.name == "sqlite":
        pretend_large(engine)
    with engine.connect() as conn:
        if engine.dialect.name == "postgresql":
            conn.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plans = {text: list(_plan(conn, *one)) for text, one in statements.items()}
    bad = {
        text: [line for line in lines if _SCAN.search(line) or _SEQUENCE.search(line)]
        for text, lines in plans.items()
    }
    return {text: lines for text, lines in bad.items() if lines and not _may_scan(text)}


def _may_scan(statement: str) -> bool:
    return bool(_IN_ORDER.search(statement)) or any(part in statement for part in _MAY)


def _plan(conn: sa.Connection, statement: str, parameters: object) -> Iterator[str]:
    if conn.dialect.name == "postgresql":
        for row in conn.exec_driver_sql(f"EXPLAIN {statement}", parameters):
            yield row[0]
    else:
        for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters):
            yield row[3]
