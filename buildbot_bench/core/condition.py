"""Findings on the health of a farm, each with the next thing to do."""

from collections.abc import Iterator, Sequence
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
class OpenPort:
    """A port of the master, of its `workers` or `pages`, who reaches it, and whether by TLS."""

    of: str
    port: str
    is_local: bool
    is_encrypted: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Hang:
    """A master that did not answer or crashed: when, what it did, and the file of its stacks."""

    at_s: float
    what: str
    path: str


Findings = Iterator[HealthFinding]


def of_database(problem: str, then: str) -> Findings:
    """A database whose tables cannot be read: nothing of them is known."""
    yield _error("database", problem, then)


def of_master(*, runs: bool) -> Findings:
    """Whether a master, on any machine, runs."""
    if not runs:
        yield _error("master", "no master runs", "start it, and read its log if it ends again")


def of_hangs(hangs: Sequence[Hang], now_s: float) -> Findings:
    """The hangs of this master, the oldest first."""
    recent = [one for one in hangs if now_s - one.at_s < HANG_NEWS_S]
    if recent:
        last = recent[-1]
        times = f"; so it was {len(recent)} times this week" if len(recent) > 1 else ""
        yield _warning(
            "master",
            f"{_ago(now_s - last.at_s)} ago it {last.what}{times}",
            f"read what its threads did, in {last.path}, and report it",
        )


def of_one_master(name: str, *, alive: bool, trouble: str) -> Findings:
    """One of several: whether it shows that it lives, and what keeps it from the others."""
    if not alive:
        yield _warning(
            "masters",
            f"master {quoted(name)} has gone; the others go on",
            "start it, or read its log for why it ends",
        )
    elif trouble:
        yield _error(
            "masters",
            f"master {quoted(name)}: {trouble}",
            "start crossbar, and see that the master reaches it: docs/how-to/several-masters.md",
        )


def of_broker(*, runs: bool) -> Findings:
    """Whether one of several masters runs the broker."""
    if not runs:
        yield _error(
            "masters",
            "no master runs the broker",
            "wait for a minute; then read the masters' logs for 'bench:'",
        )


def of_disk(path: str, *, free: int, total: int) -> Findings:
    """What the file system of a path has, in bytes."""
    room = f"{path} has {free / _GIB:.1f} GiB free of {total / _GIB:.1f}"
    then = "see `artefacts: {retention: …}` of bench.yml, and Buildbot's logHorizon"
    if free < LEAST_FREE_BYTES:
        yield _error("disk", room, f"make room now; {then}")
    elif free < LEAST_FREE_SHARE * total:
        yield _warning("disk", room, then)


def of_clock(whose: str, seconds: float) -> Findings:
    """By how much at least a clock is off ours."""
    off = f"the clock of {whose} is off by {seconds:.0f} s or more"
    then = "let NTP set the clocks of all machines"
    if seconds > CLOCK_ERROR_S:
        yield _error("clock", off, then)
    elif seconds > CLOCK_WARNING_S:
        yield _warning("clock", off, then)


def of_worker(name: str, *, connected: bool, version: str, buildbot: str) -> Findings:
    """A worker that bench.yml names; `version` is that of its Buildbot, "" when not known."""
    if not connected:
        yield _error(
            "workers",
            f"worker {quoted(name)} is not connected",
            "start it; its twistd.log says why it does not get in",
        )
    elif version and version.split(".")[:2] != buildbot.split(".")[:2]:
        yield _warning(
            "workers",
            f"worker {quoted(name)} has Buildbot {version}, the master {buildbot}",
            "install the same release of buildbot-bench on both",
        )


def of_boots(silent_s: float | None, waiting: int) -> Findings:
    """How long ago the last boot was, None before the first; and how many probes are asked for."""
    wait, then = f"{waiting} probes wait", "see the Lab page for what they wait for"
    if silent_s is None:
        if waiting:
            yield _warning("boots", f"nothing was booted yet, and {wait}", then)
        return
    last = f"the last boot was {_ago(silent_s)} ago"
    if waiting and silent_s > SILENCE_S:
        yield _error("boots", f"{last}, and {wait}", then)
    elif silent_s > QUIET_S:
        yield _warning("boots", last, "see whether commits still arrive, and the control images")


def of_standing_work(what: str, age_s: float) -> Findings:
    """Work that was begun, has not ended, and has not gone on for so long."""
    yield _error(
        "work",
        f"{what} stands still for {_ago(age_s)}",
        "its master gives it back within two minutes after disk and database work again;"
        " if it does not, read its log for 'stood still' and restart it",
    )


def of_message(row: str, age_s: float, error: str, *, given_up: bool) -> Findings:
    """A mail or notice that is not sent, and why; `given_up`: nobody tries again."""
    why = f": {error}" if error else ""
    if given_up:
        yield _warning(
            "outbox",
            f"{row} was refused or given up{why}",
            "fix the cause; a restart of the master retries it",
        )
    elif age_s > MAIL_WARNING_S:
        make = _error if age_s > MAIL_ERROR_S else _warning
        yield make(
            "outbox",
            f"{row} waits for {_ago(age_s)}{why}",
            "see `mail` and `notify` of bench.yml, and whether the server answers",
        )


def of_quarantine(testbed: str, age_s: float, reason: str) -> Findings:
    """A testbed in quarantine."""
    yield _warning(
        "testbeds",
        f"{testbed} is in quarantine for {_ago(age_s)}: {reason}",
        "look at the testbed, then release it on the Lab page",
    )


def of_port(one: OpenPort) -> Findings:
    """Passwords and patches go by it."""
    then = {
        "workers": "make certificates by `bench-farm certificates`, and say ssl: in BENCH_PB",
        "pages": "put a proxy with TLS before them, and listen on 127.0.0.1;"
        " see docs/how-to/access.md",
    }
    if not (one.is_local or one.is_encrypted):
        open_to_all = f"{one.port} of the {one.of} is open to other machines without TLS"
        yield _warning("ports", open_to_all, then.get(one.of, "see docs/how-to/access.md"))


def of_doubled_number(line: str) -> Findings:
    """An r-number that several commits claim."""
    yield _warning("repository", *line.split("; ", 1))


def _ago(seconds: float) -> str:
    if seconds < 2 * _HOUR_S:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / _HOUR_S:.0f} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.0f} days"


def _error(part: str, problem: str, then: str) -> HealthFinding:
    return HealthFinding(severity=Severity.ERROR, part=part, problem=problem, next=then)


def _warning(part: str, problem: str, then: str) -> HealthFinding:
    return HealthFinding(severity=Severity.WARNING, part=part, problem=problem, next=then)
