"""One run of chaos: a farm at work, faults in seeded order, and the check of invariants."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import sqlalchemy as sa

from tests.chaos import invariants, stacks
from tests.chaos.demand import Demand
from tests.chaos.disk import disk_in
from tests.chaos.farm import ChaosFarm
from tests.chaos.faults import Fault, Target
from tests.chaos.kills import KILLS
from tests.chaos.ledger import Ledger
from tests.chaos.surroundings import SURROUNDINGS
from tests.chaos.truth import truth_in

FAULTS = (*KILLS, *SURROUNDINGS)
_LONGEST_PAUSE_S = 1.0
_MOST_TIMES = 5  # the minutes of a plan, where too few kills came in them
_MOST_AT_ONCE = 6  # a fault and kills at the same moment, where they find something to hit
_BETWEEN_CHECKS = 50  # such moments
# Another fault comes instead. A job is there again when a master that was killed has started: who
# waits less kills masters and workers instead of jobs, and has the machine start them all the time.
_NOTHING_TO_HIT_S = 20.0
_LOOK_S = 0.2
_BETWEEN_ASKS_S = 1.0
_LAST_LINES, _COLUMNS = 120, 200  # of the log of a master that hangs, with its stacks
_PROGRESS = (
    "SELECT (SELECT count(*) FROM bench_iteration)"
    " + (SELECT count(*) FROM bench_image WHERE state = 'built')"
)
_ASIDE = (OSError, httpx.HTTPError, sa.exc.DBAPIError)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long a run goes on: until so many kills or minutes, whichever comes first.

    On a machine so slow that fewer than `fewest` came in these minutes, it goes on up to five times
    as long. `searches` and `comparisons` go on at any time. For `settle_s` after the last fault the
    farm may finish its work: a slow machine does in 900 what two searches need.
    """

    seed: int
    kills: int
    minutes: float
    fewest: int = 0
    faults: tuple[Fault, ...] = FAULTS
    searches: int = 2
    comparisons: int = 1
    settle_s: float = 900.0


@dataclass
class Run:
    """A farm under faults. `say` hears each of them."""

    target: Target
    plan: Plan
    say: Callable[[str], None]
    ledger: Ledger = field(default_factory=Ledger)
    _ask_at_s: float = 0.0
    _going_on: list[tuple[float, Fault, Callable[[], object]]] = field(default_factory=list)

    def strike_and_check(self) -> Ledger:
        """Do all faults, let the farm finish its work, and ask for the invariants.

        A farm that hangs ends the run: its processes write down where they are.
        """
        try:
            self._strike_all()
            self._settle()
        except TimeoutError as error:
            self._hangs(str(error))
        return self.ledger

    def _strike_all(self) -> None:
        plan = self.plan
        chance = random.Random(plan.seed)
        faults = list(self._possible())
        weights = [fault.weight for fault in faults]
        began_s = time.monotonic()
        since_check = 0
        while self.ledger.kills < plan.kills and self._has_time(time.monotonic() - began_s):
            (fault,) = chance.choices(faults, weights)
            self._strike(fault, chance.random())
            for _ in range(chance.randrange(_MOST_AT_ONCE)):
                (another,) = chance.choices(faults, weights)
                if another.kills:
                    self._hits(another, chance.random())
            self._pause(chance.uniform(0, _LONGEST_PAUSE_S))
            since_check += 1
            if since_check == _BETWEEN_CHECKS:
                since_check = 0
                self._calm()
                self._check(idle=False)
                self.say(f"{self.ledger.kills} kills, {len(self.ledger.violations)} violations")

    def _has_time(self, passed_s: float) -> bool:
        most = _MOST_TIMES if self.ledger.kills < self.plan.fewest else 1
        return passed_s < 60 * self.plan.minutes * most

    def _possible(self) -> Iterator[Fault]:
        for fault in self.plan.faults:
            if why := fault.missing(self.target.farm):
                self.ledger.missing[fault.name] = why
            else:
                yield fault

    def _strike(self, fault: Fault, seed: float) -> None:
        """Have a fault strike as soon as it finds something to hit."""
        patient_until_s = time.monotonic() + _NOTHING_TO_HIT_S
        while not self._hits(fault, seed) and time.monotonic() < patient_until_s:
            self._pause(_LOOK_S)

    def _hits(self, fault: Fault, seed: float) -> bool:
        if any(fault is other for _, other, _ in self._going_on):
            return False
        at_s = time.monotonic()
        struck = None
        with suppress(*_ASIDE):  # its database or its disk was just struck by another one
            struck = fault.strike(self.target, random.Random(seed))
        if struck is None:
            return False
        over_s = time.monotonic() + struck.lasts_s
        self.ledger.struck(fault.name, kills=fault.kills, at_s=at_s, over_s=over_s)
        self.say(f"{fault.name}: {struck.what}")
        if struck.undo is not None:
            self._going_on.append((over_s, fault, struck.undo))
        return True

    def _pause(self, seconds: float) -> None:
        """Let the farm work, as one that is supervised and asked does."""
        until_s = time.monotonic() + seconds
        while True:
            self._undo(before_s=time.monotonic())
            self._look()
            if time.monotonic() >= until_s:
                return
            time.sleep(_LOOK_S)

    def _look(self) -> None:
        self.target.farm.supervise()
        with suppress(*_ASIDE):
            if self.ledger.look(self.target.farm.value(_PROGRESS), time.monotonic()):
                self.target.farm.note_work()
            if time.monotonic() >= self._ask_at_s and self.target.farm.answers():
                self._ask_at_s = time.monotonic() + _BETWEEN_ASKS_S
                self.target.demand.keep()

    def _undo(self, *, before_s: float) -> None:
        """Take back what has lasted long enough."""
        for entry in [entry for entry in self._going_on if entry[0] <= before_s]:
            self._going_on.remove(entry)
            with suppress(*_ASIDE):  # a connection that held a lock may be gone
                entry[2]()

    def _calm(self) -> None:
        """End what goes on, and wait until all processes run."""
        self._undo(before_s=float("inf"))
        self.target.farm.quiet()

    def _settle(self) -> None:
        """Ask for nothing more, wait until all that was asked is done, and check."""
        farm = self.target.farm
        self._calm()
        deadline_s = time.monotonic() + self.plan.settle_s
        busy: list[str] = ["?"]
        while time.monotonic() < deadline_s:
            farm.supervise()
            with suppress(*_ASIDE):
                # The minutes until a mail is tried again are not waited for.
                farm.change("UPDATE bench_report SET next_try_at = 0 WHERE state = 'new'")
                self.ledger.look(farm.value(_PROGRESS), time.monotonic())
                if not (busy := invariants.is_busy(farm)) and not self.target.demand.clients:
                    break
            time.sleep(1)
        self.target.demand.collect()
        if busy or self.target.demand.clients:
            for line in invariants.open_rows(farm):
                self.say(line)
            commands = [" ".join(client.command) for client in self.target.demand.clients]
            self._hangs(f"still open after {self.plan.settle_s:.0f} s: {busy + commands}")
        self._check(idle=True)
        self._violated(invariants.failed_clients(self.target.demand.ended))

    def _check(self, *, idle: bool) -> None:
        farm = self.target.farm
        self._violated(invariants.contradictions(farm, idle=idle))
        try:
            self._violated(invariants.wrong_answers(farm))
            self._violated(invariants.wrong_mails(farm, self.ledger.interruptions))
        except _ASIDE as error:
            self._hangs(f"the farm does not answer: {error}")

    def _hangs(self, what: str) -> None:
        farm = self.target.farm
        stacks.ask(farm.children.values())
        log = (farm.directory / "master.log").read_text(errors="replace")
        for line in log.splitlines()[-_LAST_LINES:]:
            self.say(f"master: {line[:_COLUMNS]}")
        self._violated([what])

    def _violated(self, problems: Iterable[str]) -> None:
        found = list(problems)
        for problem in found:
            self.say(f"VIOLATED: {problem}")
        self.ledger.violated(found)


def chaos(home: Path, plan: Plan, db_url: str | None, say: Callable[[str], None]) -> Ledger:
    """Run chaos on a farm made in a directory; its database is SQLite's without a URL."""
    disk = disk_in(home)
    try:
        farm = ChaosFarm(home, truth_in(home, plan.seed), disk, db_url)
        demand = Demand(farm, searches=plan.searches, comparisons=plan.comparisons)
        try:
            farm.start()
            return Run(Target(farm=farm, demand=demand), plan, say).strike_and_check()
        finally:
            demand.stop()
            farm.end()
            keep_logs(farm, home)
    finally:
        disk.remove()


def keep_logs(farm: ChaosFarm, home: Path) -> None:
    """Copy the processes' logs from the farm's disk, for who asks why."""
    for log in farm.directory.glob("*.log"):
        (home / log.name).write_bytes(log.read_bytes())
