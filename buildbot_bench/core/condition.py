"""Findings on the health of a farm, each with the next thing to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from buildbot_bench.core.legible import quoted

# A build's archive, its upload and the object tree of one kernel take about as much.
LEAST_FREE_BYTES = 1024**3
# Below it file systems slow down, and a day's logs may fill them.
LEAST_FREE_SHARE = 0.05
# Boots are told apart by the second, and drift is a matter of hours: minutes falsify both.
CLOCK_WARNING_S, CLOCK_ERROR_S = 5.0, 60.0
# An hour is the longest pause between two tries (plugin/farm/farm.py, RETRY_MOST_S).
MAIL_WARNING_S, MAIL_ERROR_S = 3600.0, 24 * 3600.0
# A farm measures its control images every day; one that waits for commits may be silent for a week.
SILENCE_S, QUIET_S = 24 * 3600.0, 7 * 24 * 3600.0
HANG_NEWS_S = 7 * 24 * 3600.0
_HOUR_S, _DAY_S, _GIB = 3600.0, 24 * 3600.0, 1024**3


class Severity(StrEnum):
    """An `error` keeps the farm from measuring or from telling; a `warning` may come to that."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class HealthFinding:
    """Something that wants a person: of which part, what it is, and the `next` thing to do."""

    severity: Severity
    part: str
    problem: str
    next: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    """What a file system has, in bytes; `path` lies on it."""

    path: str
    free: int
    total: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerCondition:
    """A worker that bench.yml names; `version` is that of its Buildbot, "" when not known."""

    name: str
    connected: bool
    version: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skew:
    """By how many seconds at least the clock of `whose` is off ours."""

    whose: str
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class StuckMessage:
    """A mail or notice that is not sent, since when, and why; `given_up`: nobody tries again."""

    row: str
    since_s: float
    given_up: bool
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A testbed in quarantine since a time, in seconds since the epoch."""

    testbed: str
    since_s: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingStill:
    """Work that was begun, has not ended, and has not gone on since a time."""

    what: str
    since_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenPort:
    """A port of the master, of its `workers` or `pages`, who reaches it, and whether by TLS."""

    of: str
    port: str
    is_local: bool
    is_encrypted: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class MasterCondition:
    """One of several masters: whether it shows that it lives, and what keeps it from the others."""

    name: str
    alive: bool
    trouble: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hang:
    """A master that did not answer or crashed: when, what it did, and the file of its stacks."""

    at_s: float
    what: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """What was read of a farm; times in seconds since the epoch.

    `database_problem` says why the tables could not be read: then nothing of them is known.
    `buildbot` is the version of the master's; `waiting` counts the probes that are asked for.
    `masters` are several, or none; `broker` says whether one of them runs the broker.
    `doubled_numbers` are lines about r-numbers that several commits claim. `hangs` are those of
    this master, the oldest first.
    """

    now_s: float
    master_runs: bool
    buildbot: str
    database_problem: str = ""
    database_next: str = ""
    disks: tuple[Disk, ...] = ()
    skews: tuple[Skew, ...] = ()
    workers: tuple[WorkerCondition, ...] = ()
    last_boot_at_s: float | None = None
    waiting: int = 0
    messages: tuple[StuckMessage, ...] = ()
    held: tuple[Held, ...] = ()
    standing: tuple[StandingStill, ...] = ()
    ports: tuple[OpenPort, ...] = ()
    masters: tuple[MasterCondition, ...] = ()
    broker: bool = True
    doubled_numbers: tuple[str, ...] = ()
    hangs: tuple[Hang, ...] = ()


def findings(condition: Condition) -> tuple[HealthFinding, ...]:
    """What wants a person, errors first."""
    found = [
        *_database(condition),
        *_master(condition),
        *_hangs(condition),
        *_masters(condition),
        *_disks(condition),
        *_clocks(condition),
        *_workers(condition),
        *_boots(condition),
        *_standing(condition),
        *_messages(condition),
        *_quarantines(condition),
        *_ports(condition),
        *_repository(condition),
    ]
    return tuple(sorted(found, key=lambda one: one.severity is not Severity.ERROR))


def _database(condition: Condition) -> Iterator[HealthFinding]:
    if condition.database_problem:
        yield _error("database", condition.database_problem, condition.database_next)


def _master(condition: Condition) -> Iterator[HealthFinding]:
    if not condition.master_runs:
        yield _error("master", "no master runs", "start it, and read its log if it ends again")


def _hangs(condition: Condition) -> Iterator[HealthFinding]:
    recent = [one for one in condition.hangs if condition.now_s - one.at_s < HANG_NEWS_S]
    if recent:
        last = recent[-1]
        times = f"; so it was {len(recent)} times this week" if len(recent) > 1 else ""
        yield _warning(
            "master",
            f"{_ago(condition.now_s - last.at_s)} ago it {last.what}{times}",
            f"read what its threads did, in {last.path}, and report it",
        )


def _masters(condition: Condition) -> Iterator[HealthFinding]:
    for one in condition.masters:
        if not one.alive:
            yield _warning(
                "masters",
                f"master {quoted(one.name)} has gone; the others go on",
                "start it, or read its log for why it ends",
            )
        elif one.trouble:
            yield _error(
                "masters",
                f"master {quoted(one.name)}: {one.trouble}",
                "start crossbar, and see that the master reaches it:"
                " docs/how-to/several-masters.md",
            )
    if condition.master_runs and not condition.broker:
        yield _error(
            "masters",
            "no master runs the broker",
            "wait for a minute; then read the masters' logs for 'bench:'",
        )


def _disks(condition: Condition) -> Iterator[HealthFinding]:
    for disk in condition.disks:
        free = f"{disk.path} has {disk.free / _GIB:.1f} GiB free of {disk.total / _GIB:.1f}"
        then = "see `artefacts: {retention: …}` of bench.yml, and Buildbot's logHorizon"
        if disk.free < LEAST_FREE_BYTES:
            yield _error("disk", free, f"make room now; {then}")
        elif disk.free < LEAST_FREE_SHARE * disk.total:
            yield _warning("disk", free, then)


def _clocks(condition: Condition) -> Iterator[HealthFinding]:
    for skew in condition.skews:
        off = f"the clock of {skew.whose} is off by {skew.seconds:.0f} s or more"
        then = "let NTP set the clocks of all machines"
        if skew.seconds > CLOCK_ERROR_S:
            yield _error("clock", off, then)
        elif skew.seconds > CLOCK_WARNING_S:
            yield _warning("clock", off, then)


def _workers(condition: Condition) -> Iterator[HealthFinding]:
    for worker in condition.workers if condition.master_runs else ():
        if not worker.connected:
            yield _error(
                "workers",
                f"worker {quoted(worker.name)} is not connected",
                "start it; its twistd.log says why it does not get in",
            )
        elif worker.version and _series(worker.version) != _series(condition.buildbot):
            yield _warning(
                "workers",
                f"worker {quoted(worker.name)} has Buildbot {worker.version},"
                f" the master {condition.buildbot}",
                "install the same release of buildbot-bench on both",
            )


def _series(version: str) -> list[str]:
    return version.split(".")[:2]


def _boots(condition: Condition) -> Iterator[HealthFinding]:
    if condition.last_boot_at_s is None:
        if condition.waiting and not condition.database_problem:
            yield _warning(
                "boots",
                f"nothing was booted yet, and {condition.waiting} probes wait",
                "see the Lab page for what they wait for",
            )
        return
    silent_s = condition.now_s - condition.last_boot_at_s
    last = f"the last boot was {_ago(silent_s)} ago"
    if condition.waiting and silent_s > SILENCE_S:
        yield _error(
            "boots",
            f"{last}, and {condition.waiting} probes wait",
            "see the Lab page for what they wait for",
        )
    elif silent_s > QUIET_S:
        yield _warning("boots", last, "see whether commits still arrive, and the control images")


def _standing(condition: Condition) -> Iterator[HealthFinding]:
    """Without a master all of it stands, and the next one gives it back when it starts."""
    for one in condition.standing if condition.master_runs else ():
        yield _error(
            "work",
            f"{one.what} stands still for {_ago(condition.now_s - one.since_s)}",
            "its master gives it back within two minutes after disk and database work again;"
            " if it does not, read its log for 'stood still' and restart it",
        )


def _messages(condition: Condition) -> Iterator[HealthFinding]:
    for one in condition.messages:
        age_s = condition.now_s - one.since_s
        why = f": {one.error}" if one.error else ""
        if one.given_up:
            yield _warning(
                "outbox",
                f"{one.row} was refused or given up{why}",
                "fix the cause; a restart of the master retries it",
            )
        elif age_s > MAIL_WARNING_S:
            make = _error if age_s > MAIL_ERROR_S else _warning
            yield make(
                "outbox",
                f"{one.row} waits for {_ago(age_s)}{why}",
                "see `mail` and `notify` of bench.yml, and whether the server answers",
            )


def _quarantines(condition: Condition) -> Iterator[HealthFinding]:
    for held in condition.held:
        yield _warning(
            "testbeds",
            f"{held.testbed} is in quarantine for {_ago(condition.now_s - held.since_s)}:"
            f" {held.reason}",
            "look at the testbed, then release it on the Lab page",
        )


def _ago(seconds: float) -> str:
    if seconds < 2 * _HOUR_S:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / _HOUR_S:.0f} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.0f} days"


def _error(part: str, problem: str, then: str) -> HealthFinding:
    return HealthFinding(severity=Severity.ERROR, part=part, problem=problem, next=then)


def _warning(part: str, problem: str, then: str) -> HealthFinding:
    return HealthFinding(severity=Severity.WARNING, part=part, problem=problem, next=then)


def _ports(condition: Condition) -> Iterator[HealthFinding]:
    """Passwords and patches go by them."""
    then = {
        "workers": "make certificates by `bench-farm certificates`, and say ssl: in BENCH_PB",
        "pages": "put a proxy with TLS before them, and listen on 127.0.0.1;"
        " see docs/how-to/access.md",
    }
    for one in condition.ports:
        if not (one.is_local or one.is_encrypted):
            open_to_all = f"{one.port} of the {one.of} is open to other machines without TLS"
            yield _warning("ports", open_to_all, then.get(one.of, "see docs/how-to/access.md"))


def _repository(condition: Condition) -> Iterator[HealthFinding]:
    for line in condition.doubled_numbers:
        yield _warning("repository", *line.split("; ", 1))
