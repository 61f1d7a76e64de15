"""A farm on a disk and in a database that is whole in every respect, and ways to spoil it.

Nothing runs: what a master and a lab would have left is written by the project's own code.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.search import Answer
from buildbot_bench.core.wire import Finished, Measured, format_event
from buildbot_bench.demo.on_disk import FarmPlace
from buildbot_bench.demo.verifying import verify
from buildbot_bench.plugin.db.columns import HostileText, JsonText

KERNEL = b"a kernel"
DIGEST = hashlib.sha256(KERNEL).hexdigest()
BOOTS = 3
WORKFLOW = """
name: Tests
repository: /nowhere
on: {push: {branches: [main]}}
testbeds: {apu: {worker: lab}}
jobs:
  kernel:
    runs-on: builder
    steps:
      - uses: checkout
      - {name: Build, run: make}
      - {uses: upload-artefact, with: {path: kernel}}
  bench:
    needs: kernel
    runs-on: apu
    strategy: {matrix: {workload: [forwarding]}}
    iterations: 5
mail: {from: bench@example.org, to: [net@example.org]}
"""
ANSWER = Answer(steps=(), reproduced=True, unresolved=(), reason="")


@dataclass(frozen=True, kw_only=True)
class WholeFarm:
    """A farm on a disk and in a database, and ways to spoil it."""

    place: FarmPlace
    engine: sa.Engine
    token: str

    @property
    def job(self) -> Path:
        return self.place.states[0] / "jobs" / self.token

    @property
    def kernel(self) -> Path:
        return self.place.master / "artefacts" / DIGEST[:2] / DIGEST

    def change(self, *statements: str | sa.Insert) -> None:
        """Change rows as no release would: foreign keys are not looked at."""
        of_sqlite = self.engine.dialect.name == "sqlite"
        off = "PRAGMA foreign_keys = off" if of_sqlite else "SET session_replication_role = replica"
        on = "PRAGMA foreign_keys = on" if of_sqlite else "SET session_replication_role = origin"
        with self.engine.connect() as conn:
            for one in (off, *statements):
                conn.execute(sa.text(one) if isinstance(one, str) else one)
                conn.commit()
            conn.execute(sa.text(on))
            conn.commit()

    def add(self, table: sa.Table, **values: object) -> None:
        """Add row 77 of a table as no release would, with any value in the other columns."""
        row = {column.name: _anything(column) for column in table.columns} | {"id": 77} | values
        plain = sa.table(table.name, *(sa.column(name) for name in row))
        self.change(sa.insert(plain).values(**row))

    def tell(self, *boots: Measured) -> None:
        """The lab's events of the job."""
        self.job.mkdir(parents=True, exist_ok=True)
        events = [*boots, Finished(iterations=len(boots))]
        lines = "".join(format_event(event) + "\n" for event in events)
        (self.job / "events.jsonl").write_text(lines)

    def master_runs(self, since_s: float) -> None:
        """This process takes the part of a master that runs since then."""
        pid = self.place.master / "twistd.pid"
        pid.write_text(str(os.getpid()))
        os.utime(pid, (since_s, since_s))

    def found(self, *, idle: bool = False) -> list[tuple[str, str]]:
        verdict = verify(self.place, idle=idle, wait=lambda _: None)
        assert all(one.problem and one.next for one in verdict.violations)
        return [(one.check, one.row) for one in verdict.violations]


def _anything(column: sa.Column[object]) -> object:
    kinds = {JsonText: "{}", sa.Boolean: False, sa.LargeBinary: b"", HostileText: "77"}
    if isinstance(column.type, sa.Enum):
        return column.type.enums[0]
    of_text = "77" if isinstance(column.type, sa.String) else 77
    return None if column.nullable else kinds.get(type(column.type), of_text)


def boot(ordinal: int, value: float = 0.0) -> Measured:
    return Measured(ordinal=ordinal, at_s=5.0, duration_s=1.0, values={"pps": value or 7.0})
