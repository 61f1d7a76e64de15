"""The tables of a command testbed in testbeds.toml: commands, values and limits."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from buildbot_bench.archives.suites import NANOSECONDS, SUITES
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.metric import KNOWN_METRICS, Metric, NoiseClass
from buildbot_bench.lab.tables import nearest

CommandWords = str | tuple[str, ...]

LAST_NUMBER, WALL, CPU, USER = "last-number", "wall", "cpu", "user"
INSTRUCTIONS = "instructions"
ALL = "all"
"""Each value that a benchmark suite prints, by its name."""
NAME_ONE = "name it, as in google-benchmark:BM_sort/64, with the tool that prints it"
"""What to do where one value is wanted, not all."""
VALUES = "values"
"""The unit of a run's value where there are many: how many they are."""
_OWN_VALUES = (CPU, WALL, USER, INSTRUCTIONS, LAST_NUMBER, ALL)
TIMES = {CPU: "processor time", WALL: "time", USER: "user time"}
"""The values that are seconds of the command, and their names."""
_COUNTERS = ("", "perf", "valgrind")
_UNIT = re.compile(r"[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,39}")
_PATH = re.compile(
    r"[^.\[\]]+(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*|(\[\d+\])+(\.[^.\[\]]+(\[\d+\])*)*"
)
# What sh would split into the same words and do nothing else with: it is not needed to run that.
_PLAIN = re.compile(r"""(?:[\w@%+=:,./ \t-]|'[^']*'|"[^"$`\\]*")+""")
_OF_SH = frozenset(
    {".", ":", "cd", "command", "eval", "exec", "exit", "export", "set", "trap", "ulimit", "umask"}
)
_MOST_WARM_UP = 100
_LONGEST_S = 7 * 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueTable:
    """Where the value is: a pattern, a dotted path into JSON, or a preset; one of the three.

    `regex` has one group, and must match once: a second match is an error, as which of the two is
    meant is not known. `file` is what the command writes, relative to where it runs; without it the
    value is in what it prints to stdout. A preset may name one of several values, as in
    `go-bench:BenchmarkSum-2`.
    """

    regex: str = ""
    json: str = ""
    preset: str = ""
    file: str = ""

    def __post_init__(self) -> None:
        if sum(map(bool, (self.regex, self.json, self.preset))) != 1:
            raise UsageError(
                "value says not one thing", hint="write one of `regex`, `json` and `preset`"
            )
        if self.preset and self.preset != ALL and not preset_of(self.preset):
            raise UsageError(
                f"{quoted(self.preset)} is no preset", hint=nearest(self.preset, PRESETS)
            )
        if self.json and not _PATH.fullmatch(self.json):
            raise UsageError(
                f"{quoted(self.json)} is no path", hint="write it like results[0].mean"
            )
        if self.regex:
            _check_pattern(self.regex)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandWorkload:
    """What is run and what is read from it.

    A command is a list of words, or a line for /bin/sh, which is not started for a plain program
    and its arguments, but with `shell`. All run in the directory of the unpacked artefact.

    Attributes:
        run: What is measured.
        value: A ValueTable, the name of a preset, alone or with that of one of its values, `all` of
            a suite's values, `last-number` (the last one on stdout), `instructions`, or seconds of
            the command: `cpu` (processor time: user and system), `wall`, or `user` alone, which
            clocks tell coarsely.
        unit: Of the value; `cpu`, `wall`, `user`, `instructions` and presets have their own.
        higher_is_better: Whether more is better; so it is for what a regex, a path or `last-number`
            reads, and else as the preset has it.
        exact: Whether the value is counted, and repeats but for little.
        prepare: Run to its end before; what it returns is the lab's.
        boot: Started before `run`, and ended after it: a server.
        ready: Tried until it ends with 0, after `boot`.
        cleanup: Run at the end, however that came.
        timeout: Seconds for each of the commands.
        cpus: The processors that they may use; all, if there is none.
        warm_up: So many runs of `run` go before, and are not counted.
        randomise: Whether each iteration has another size of environment and other addresses.
        counter: What counts instructions: `perf` or `valgrind`; empty for the first that works.
        environment: Variables that the commands have beside the worker's.
        disk_mib: What one iteration may write, in MiB.
    """

    run: CommandWords
    value: str | ValueTable = CPU
    unit: str = ""
    higher_is_better: bool | None = None
    exact: bool | None = None
    shell: bool = False
    prepare: CommandWords | None = None
    boot: CommandWords | None = None
    ready: CommandWords | None = None
    cleanup: CommandWords | None = None
    timeout: float = 600.0
    cpus: tuple[int, ...] = ()
    warm_up: int = 0
    randomise: bool = True
    counter: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    disk_mib: int = 4096

    def __post_init__(self) -> None:
        """See that it can be run."""
        self._check_limits()
        for name in ("run", "prepare", "boot", "ready", "cleanup"):
            command = getattr(self, name)
            if command is not None:
                _check_command(name, command, shell=self.shell)
        _check_value(self.value)
        if self.ready is not None and self.boot is None:
            raise UsageError("`ready` is for what `boot` starts", hint="write `boot`, or `prepare`")
        if self.is_suite and (self.unit or (self.higher_is_better, self.exact) != (None, None)):
            raise UsageError(
                "value all: the tool says of each value its unit, and which way is better",
                hint="leave that out, or name one value",
            )
        metric = self.metric
        if not _UNIT.fullmatch(metric.unit):
            raise UsageError(
                "unit is missing or no word", hint='write --unit MB/s, or unit = "MB/s"'
            )
        known = KNOWN_METRICS.get(metric.unit, metric)
        if (known.higher_is_better, known.noise) != (metric.higher_is_better, metric.noise):
            raise UsageError(
                f"unit {quoted(metric.unit)} is known, and means something else",
                hint="choose another word for the unit",
            )

    def _check_limits(self) -> None:
        if not 0 < self.timeout <= _LONGEST_S:
            raise UsageError(
                f"timeout: {self.timeout} is no length of time", hint="write seconds, up to a week"
            )
        for name in self.environment:
            if not name or "=" in name or "\0" in name:
                raise UsageError(f"environment: {quoted(name)} is no name")
        if self.warm_up > _MOST_WARM_UP:
            raise UsageError(f"warm-up: {self.warm_up} runs are more than {_MOST_WARM_UP}")
        if self.counter not in _COUNTERS:
            raise UsageError(
                f"counter: {quoted(self.counter)} is none", hint="write perf or valgrind"
            )

    @property
    def is_suite(self) -> bool:
        """Whether a run yields many values, each with a name."""
        return ALL in {self.value, getattr(self.value, "preset", "")}

    @property
    def metric(self) -> Metric:
        """The unit, which way is better, and how it repeats."""
        name, unit, higher, exact = "value", self.unit, True, False
        preset = PRESETS.get(preset_of(self.value))
        if preset is not None:
            _, named = split_preset(self.value)
            name = f"{preset.name} of {one_line(named)}" if named else preset.name
            unit = unit or preset.unit
            higher = preset.higher_is_better and not unit.endswith("/op")  # as JMH has times
        elif self.is_suite:
            name, unit = "number of values", VALUES
        elif isinstance(self.value, str) and self.value in TIMES:
            name, unit, higher = TIMES[self.value], unit or "s", False
        elif self.value == INSTRUCTIONS:
            name, unit = "instruction count", unit or "instructions"
            higher, exact = False, True
        return Metric(
            name=name,
            unit=unit,
            higher_is_better=higher if self.higher_is_better is None else self.higher_is_better,
            noise=NoiseClass.EXACT
            if (exact if self.exact is None else self.exact)
            else NoiseClass.SAMPLED,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandSettings:
    """A machine that runs commands: its workloads by name."""

    DRIVER: ClassVar[str] = "command"

    workloads: dict[str, CommandWorkload]


def words_of(command: CommandWords, *, shell: bool) -> tuple[str, ...]:
    """What is run: the words of a list, or of a plain text, or a shell with the text."""
    if shell:
        if not isinstance(command, str):
            raise UsageError("a shell runs a text, not a list", hint="remove `shell`, or write one")
        return ("/bin/sh", "-c", command)
    if not isinstance(command, str):
        return command
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(
            f"{quoted(command)} cannot be split into words: {error}", hint="write a list of words"
        ) from error
    first = words[0] if words else ""
    if _PLAIN.fullmatch(command) and "=" not in first and first not in _OF_SH:
        return words
    return ("/bin/sh", "-c", command)


def preset_of(value: str | ValueTable) -> str:
    """The preset that a value names; empty when it names none."""
    preset, named = split_preset(value)
    return preset if preset in SUITES or (preset in PRESETS and not named) else ""


def split_preset(value: str | ValueTable) -> tuple[str, str]:
    """Return what of a value is to be a preset, and which of its values is meant, if it says."""
    preset, _, named = (value if isinstance(value, str) else value.preset).partition(":")
    return preset, named


def _check_command(name: str, command: CommandWords, *, shell: bool) -> None:
    words = words_of(command, shell=shell)
    if not words or not words[0].strip() or (isinstance(command, str) and not command.strip()):
        raise UsageError(f"{name} is empty", hint="write a program and its arguments")
    if any("\0" in word for word in words):
        raise UsageError(f"{name} has a zero byte in it")


def _check_value(value: str | ValueTable) -> None:
    known = (*_OWN_VALUES, *PRESETS)
    if isinstance(value, str) and value not in _OWN_VALUES and not preset_of(value):
        raise UsageError(
            f"value: {quoted(value)} is none",
            hint=f"{nearest(value, known)} Known are {', '.join(known)}",
        )


def _check_pattern(pattern: str) -> None:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{quoted(pattern)} is no regular expression: {error}") from error
    if compiled.groups != 1:
        raise UsageError(
            f"{quoted(pattern)} has {compiled.groups} groups, and the value is in one",
            hint=r"write it like speed: ([\d.]+) MB/s, and (?:…) for what is not the value",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """One tool: `json` is a dotted path into what it prints, or `regex` a pattern with a group.

    `unit` is empty where the tool prints values of several units.
    `scale_at` is the path of a word that `scales` turns into what the value is multiplied by.
    `needs` are the options by which the tool prints it on stdout.
    """

    unit: str
    name: str = "time"
    higher_is_better: bool = False
    needs: str = ""
    json: str = ""
    regex: str = ""
    scale_at: str = ""
    scales: Mapping[str, float] = field(default_factory=dict)


PRESETS: Mapping[str, Preset] = {
    "hyperfine": Preset(
        unit="s", needs="--export-json /dev/stdout --style none", json="results[0].mean"
    ),
    # Or --benchmark_out
    "google-benchmark": Preset(
        unit="ns",
        needs="--benchmark_format=json",
        json="benchmarks[0].real_time",
        scale_at="benchmarks[0].time_unit",
        scales=NANOSECONDS,
    ),
    "pytest-benchmark": Preset(
        unit="s", needs="--benchmark-json=/dev/stdout", json="benchmarks[0].stats.median"
    ),
    "go-bench": Preset(
        unit="ns/op",
        needs="-bench '^BenchmarkName$' -run '^$'",
        regex=r"^Benchmark\S+\s+\d+\s+([\d.]+) ns/op",
    ),
    "jmh": Preset(
        name="score",
        unit="",
        higher_is_better=True,
        needs="-rf json -rff /dev/stdout",
        json="[0].primaryMetric.score",
    ),
    "criterion": Preset(unit="ns", needs="--message-format=json", json="typical.estimate"),
    "iperf3": Preset(
        name="throughput",
        unit="bits/s",
        higher_is_better=True,
        needs="-J",
        json="end.sum_received.bits_per_second",
    ),
    "fio": Preset(
        name="rate of reading",
        unit="IOPS",
        higher_is_better=True,
        needs="--output-format=json",
        json="jobs[0].read.iops",
    ),
    "fio-write": Preset(
        name="rate of writing",
        unit="IOPS",
        higher_is_better=True,
        needs="--output-format=json",
        json="jobs[0].write.iops",
    ),
    "wrk": Preset(
        name="rate of requests",
        unit="requests/s",
        higher_is_better=True,
        regex=r"^Requests/sec:\s+([\d.]+)",
    ),
}
