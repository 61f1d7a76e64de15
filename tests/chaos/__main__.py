"""`make chaos`: kill, cut, fill and break parts of a real farm, then check its invariants.

A master, a builder worker and a lab worker search and compare while faults strike in a seeded
order; then the farm finishes its work and its invariants are checked. The seed settles the order of
the faults and the pauses between them, not how fast the farm works. Exit status: 0 when no
invariant was violated, 1 else.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from benchmarks.progress import keep
from tests.chaos.ledger import Ledger, table
from tests.chaos.run import FAULTS, Plan, chaos
from tests.databases import DATABASES, DEFAULT_POSTGRESQL, new_database

_KILLS = 1000
_MINUTES = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    plan = Plan(
        seed=options.seed,
        kills=options.kills,
        minutes=options.minutes,
        settle_s=options.settle,
        faults=tuple(fault for fault in FAULTS if options.only in fault.name),
    )
    databases = DATABASES if options.database == "both" else (options.database,)
    ledgers = {database: _struck(database, plan, options.dir) for database in databases}
    figures = {
        database: {"kills": one.kills, "violations": len(one.violations)}
        for database, one in ledgers.items()
    }
    keep("chaos", figures)
    return 1 if any(one.violations for one in ledgers.values()) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=_KILLS, help="end after so many (1000)")
    parser.add_argument("--minutes", type=float, default=_MINUTES, help="or after so many (60)")
    parser.add_argument("--settle", type=float, default=Plan.settle_s, help="seconds to finish in")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="drawn")
    parser.add_argument("--database", choices=(*DATABASES, "both"), default="both")
    parser.add_argument("--only", default="", metavar="NAME", help="faults with this in the name")
    parser.add_argument("--dir", type=Path, help="where farms and logs stay (a temporary one)")
    return parser


def _struck(database: str, plan: Plan, directory: Path | None) -> Ledger:
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as temporary:
        home = (directory or Path(temporary)).resolve() / database
        home.mkdir(parents=True)
        began_s = time.monotonic()
        with _database(database) as url:
            ledger = chaos(home, plan, url, _said(database))
    minutes = (time.monotonic() - began_s) / 60
    print(f"\n{database}, seed {plan.seed}, {datetime.now(UTC):%Y-%m-%d}, {minutes:.0f} minutes\n")
    print(table(ledger), flush=True)
    for violation in ledger.violations:
        print(f"* {violation}")
    print(f"again: make chaos OPTIONS='--seed {plan.seed} --database {database}'", flush=True)
    return ledger


@contextmanager
def _database(name: str) -> Iterator[str | None]:
    if name == "sqlite":
        yield None
        return
    server = sa.create_engine(os.environ.get("BENCH_TEST_POSTGRESQL", DEFAULT_POSTGRESQL))
    with new_database(server) as url:
        yield url


def _said(database: str) -> Callable[[str], None]:
    began_s = time.monotonic()

    def say(words: str) -> None:
        print(f"{time.monotonic() - began_s:7.1f} {database}: {words}", file=sys.stderr, flush=True)

    return say


if __name__ == "__main__":
    sys.exit(main())
