"""What a lab job prints: JSON lines, one for each event, and in them the logs of a run as a text.

That text is the receiver's log alone, as in logs of earlier releases, or has a section for each
machine. Logs are hostile: separators of sections are taken out of them, and a log that is too long
keeps its beginning and its end.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.metric import Metric, NoiseClass

VERSION = 1

# Buildbot cuts the lines of a log at 4096 characters, on the worker and on the master.
LINE_LENGTH = 4000
_CONTINUED, _ENDED = "+", "="
_MOST_METRICS = 20
_LONGEST = 100  # characters of a unit, as the tables have room for

ONE_IMAGE = "images"
"""The fact by which a driver says why it has but one image of each kernel, as recordings have."""
RECORDED_BOOTS = "recorded boots"
"""The fact of a boot that was recorded long ago: how many there are, and how they are dealt."""


class FailureKind(StrEnum):
    """What a failure says: something of the revision, or nothing but of the lab."""

    UNTESTABLE = "untestable"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """The job began (or was found running): what it measures and on what.

    `metrics` are the units that the workload has of its own: which way is better, how they repeat.
    """

    job: str
    testbed: str
    workload: str
    digest: str
    iterations: int
    epoch: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """What the job does now, for a person who watches: `boot 2/5`."""

    text: str
    at_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One iteration ended: a value per unit, or the reason why there is none.

    `ordinal` counts the job's iterations from 0. `values` maps a unit ("pps") to the value in it;
    the first is the primary one. `failure` is set when there is no value, and `log` is then the
    end of the console; else it is the whole logs of all ends of the run, as `join_logs` joins
    them. `facts` are those that only this boot could tell; they go before the job's. `times` are
    what the clocks say of the run of a command, as RunTimes tells them; `named` are its named
    values, as core.metric has them.
    """

    ordinal: int
    at_s: float
    duration_s: float
    values: dict[str, float] = field(default_factory=dict)
    failure: str | None = None
    log: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    named: list[Any] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Profiled:
    """A capture of where the DUT's CPUs spent their cycles was taken; it is no measurement.

    `counter` is the event that was sampled; `folded` are the stacks as core.profile writes them,
    the equal ones of all CPUs in one line. `packets` is on how many packets counts are based, 0 for
    what is sampled; `places` maps functions to their `path:line`, as far as that is known.
    """

    at_s: float
    duration_s: float
    counter: str
    folded: str
    packets: int = 0
    places: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """The job ended early: the kernel cannot be tested, or the lab fails."""

    kind: FailureKind
    reason: str
    log: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """All that was asked for is there: so many iterations, none of a capture."""

    iterations: int


Event = Started | Phase | Measured | Profiled | Failed | Finished

_KINDS: dict[str, type[Event]] = {
    "started": Started,
    "phase": Phase,
    "measured": Measured,
    "profiled": Profiled,
    "failed": Failed,
    "finished": Finished,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_LATER: dict[type[Event], tuple[str, ...]] = {
    Started: ("metrics",),
    Measured: ("facts", "times", "named"),
    Profiled: ("packets", "places"),
}


def format_event(event: Event) -> str:
    """One line of JSON, without the newline; only ASCII, so that no terminal is led astray."""
    fields = asdict(event)
    for name in _LATER.get(type(event), ()):
        if not fields[name]:
            del fields[name]  # which masters of an earlier release do not know
    return json.dumps({"v": VERSION, "event": _NAMES[type(event)], **fields})


def parse_event(line: str) -> Event:
    """Read one line that `format_event` wrote."""
    try:
        fields: dict[str, Any] = json.loads(line)
        version = fields.pop("v")
        kind = _KINDS[fields.pop("event")]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise InfraError(f"not an event of a lab job: {quoted(line, columns=120)}") from error
    if version != VERSION:
        raise InfraError(
            f"the lab worker speaks version {quoted(version)} of the job's events, this master"
            f" {VERSION}",
            hint="install the same release of buildbot-bench on both",
        )
    try:
        if kind is Failed:
            fields["kind"] = FailureKind(fields["kind"])
        if kind is Started:
            fields["metrics"] = tuple(map(_metric, fields.get("metrics", ())[:_MOST_METRICS]))
        return kind(**fields)
    except (TypeError, ValueError, KeyError) as error:
        raise InfraError(f"not an event of a lab job: {quoted(line, columns=120)}") from error


def _metric(told: dict[str, Any]) -> Metric:
    """A metric of bounded size, no matter what a lab says."""
    metric = Metric(**{**told, "noise": NoiseClass(told["noise"])})
    texts = [
        isinstance(text, str) and 0 < len(text) <= _LONGEST for text in (metric.name, metric.unit)
    ]
    if not all(texts) or metric.higher_is_better not in {True, False}:
        raise ValueError(told)
    return metric


def pieces(line: str) -> Iterator[str]:
    """A line as it goes over the wire: as it is, or cut into lines that Buildbot leaves whole.

    Each piece but the last begins with "+", the last with "="; an event begins with "{".
    """
    if len(line) <= LINE_LENGTH:
        yield line
        return
    room = LINE_LENGTH - 1
    cuts = range(0, len(line), room)
    for start in cuts:
        yield (_ENDED if start == cuts[-1] else _CONTINUED) + line[start : start + room]


class Joiner:
    """Puts the pieces of a line together again, in the order in which they come."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def take(self, piece: str) -> str | None:
        """The line that this piece completes, or None when more is to come."""
        match piece[:1]:
            case "+":
                self._held.append(piece[1:])
                return None
            case "=":
                line = "".join([*self._held, piece[1:]])
                self._held.clear()
                return line
            case _:
                self._held.clear()
                return piece


def parse_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a whole output; raises InfraError for a line that is none."""
    joiner = Joiner()
    for piece in lines:
        if (line := joiner.take(piece)) is not None:
            yield parse_event(line)


# Characters of one log that are kept: the longest of the archive's 17 857 has some 25 000.
LONGEST_LOG = 256 * 1024
MOST_SENDERS = 16
_MARK = "\x1c"  # ASCII's file separator, which no pkt-gen prints
_SECTION = re.compile(rf"{_MARK}(receiver|sender|remark)\n")
_CUT = re.compile(r"^\[\d+ characters are cut here\]$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLogs:
    """What the ends of a run printed; `remark` is what the lab says of the run."""

    receiver: str
    senders: tuple[str, ...] = ()
    remark: str = ""


def join_logs(logs: RunLogs) -> str:
    """One text of all of them, each no longer than LONGEST_LOG."""
    receiver = _harmless(logs.receiver)
    if not logs.senders and not logs.remark:
        return receiver
    return "".join(
        f"{_MARK}{name}\n{text}"
        for name, text in [
            ("receiver", receiver),
            *(("sender", _harmless(text)) for text in logs.senders[:MOST_SENDERS]),
            *([("remark", _harmless(logs.remark))] if logs.remark else []),
        ]
    )


def split_logs(text: str) -> RunLogs:
    """The logs that `join_logs` made one text of; any other text is the receiver's."""
    sections = list(_sections(text))
    if not sections:
        return RunLogs(receiver=text)
    by_name = {name: [body for one, body in sections if one == name] for name, _ in sections}
    return RunLogs(
        receiver="".join(by_name.get("receiver", [])),
        senders=tuple(by_name.get("sender", [])),
        remark="".join(by_name.get("remark", [])),
    )


def is_cut(log: str) -> bool:
    """Whether a log says that something of it was cut out."""
    return _CUT.search(log) is not None


def _sections(text: str) -> Iterator[tuple[str, str]]:
    found = list(_SECTION.finditer(text))
    if not found or found[0].start() != 0:
        return
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=True):
        yield match[1], text[match.end() : end]


def _harmless(log: str) -> str:
    log = log.replace(_MARK, "\ufffd")
    cut = len(log) - LONGEST_LOG
    if cut <= 0:
        return log
    half = LONGEST_LOG // 2
    return f"{log[:half]}\n[{cut} characters are cut here]\n{log[-half:]}"
