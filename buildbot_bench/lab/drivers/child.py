"""The C programs of the embedded testbed: compiled, confined, and what its sampler wrote."""

import hashlib
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.model import Profile, Stack
from buildbot_bench.programs import answer_of

PKTBLAST = "pktblast"
CONTROL = "control"
SAMPLER = "sampler.so"
_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    PKTBLAST: ("pktblast.c", "packet.c", "burst.c", "process.c"),
    CONTROL: ("control.c", "packet.c", "burst.c"),
}
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
_LIBRARY_FLAGS = ("-shared", "-fPIC")
_COMPILE_S = 120.0  # for a small program, on a machine however busy


def compiler() -> str | None:
    """Where the C compiler is: $CC, else cc; None when there is none."""
    return shutil.which(os.environ.get("CC", "cc"))


def tools(home: Path) -> Path:
    """The directory with the compiled programs; compiles them when sources or flags are new."""
    sources = resources.files("buildbot_bench.lab.drivers") / "generator"
    with resources.as_file(sources) as directory:
        target = home / "tools" / fingerprint(_FLAGS, sorted(directory.glob("*.[ch]")))
        if all((target / name).exists() for name in _PROGRAMS):
            return target
        target.mkdir(parents=True, exist_ok=True)
        for name, files in _PROGRAMS.items():
            compile_program(target / name, [str(directory / file) for file in files], _FLAGS)
    return target


def sampler(home: Path) -> Path:
    """The library that samples what it is preloaded into; InfraError where it does not compile."""
    target = tools(home) / SAMPLER
    if not target.exists():
        source = resources.files("buildbot_bench.lab.drivers") / "generator" / "sampler.c"
        with resources.as_file(source) as path:
            compile_program(target, [str(path)], (*_FLAGS, *_LIBRARY_FLAGS))
    return target


def compile_program(target: Path, sources: Sequence[str], flags: Sequence[str]) -> None:
    """Compile and link C or assembler files."""
    cc = compiler()
    if cc is None:
        raise InfraError("there is no C compiler", hint="install one, or say which by CC")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    command = [cc, *flags, "-o", str(unfinished), *sources]
    result = answer_of(command, deadline_s=_COMPILE_S)
    if result.returncode != 0:
        raise InfraError(
            f"the testbed's {target.name} does not compile: {result.stderr[-2000:]}",
            hint=f"try {' '.join(command)}",
        )
    unfinished.replace(target)


def fingerprint(flags: Sequence[str], sources: Iterable[Traversable]) -> str:
    """What tells a program from one of other sources or flags; the order of both counts."""
    digest = hashlib.sha256(" ".join(flags).encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


_OUTPUT_LIMIT = 1 << 20  # bytes
_POLL_S = 0.005  # between two looks at a child
_LISTING_S = 10.0  # for ps(1), on a machine however busy


class ChildProcess:
    """A running program whose stdout and stderr go to files beside each other.

    Raises OSError when it cannot be started. `lifetime_s` is when SIGALRM ends it, or SIGXCPU one
    that blocks that; `environment` is what it has beside ours, `output_limit` in bytes.
    """

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        *,
        cpu: int,
        lifetime_s: float,
        pass_fds: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        output_limit: int = _OUTPUT_LIMIT,
    ) -> None:
        self._output = output
        self._errors = output.with_suffix(".err")
        with self._output.open("wb") as stdout, self._errors.open("wb") as stderr:
            self._process = subprocess.Popen(  # noqa: S603 - a list, no shell
                pinned(command, cpu),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=output.parent,
                pass_fds=tuple(pass_fds),
                env={**os.environ, **(environment or {})},
                preexec_fn=lambda: _confine(cpu, lifetime_s, output_limit),  # noqa: PLW1509 - we have one thread
            )

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def output(self) -> str:
        """What it wrote to stdout so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def errors(self) -> str:
        """What it wrote to stderr so far."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    def ending(self) -> str | None:
        """How it ended, in words; None as long as it runs."""
        status = self._process.poll()
        if status is None:
            return None
        if status < 0:
            return f"was killed by {signal.Signals(-status).name}"
        return f"ended with status {status}"

    def wait_until(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        """Wait for a condition or the process's end; returns whether the condition holds."""
        end_s = time.monotonic() + deadline_s
        while time.monotonic() < end_s:
            over = self.ending() is not None
            if condition():
                return True
            if over:
                return False
            time.sleep(_POLL_S)
        return condition()

    def wait(self, deadline_s: float) -> bool:
        """Wait for the process's end; returns whether it came in time."""
        try:
            self._process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()


def pinned(command: Sequence[str], cpu: int) -> list[str]:
    """The command, by way of cpuset(1) where Python itself cannot choose the processor."""
    if not hasattr(os, "sched_setaffinity") and (cpuset := shutil.which("cpuset")):
        return [cpuset, "-l", str(cpu), *command]
    return list(command)


@contextmanager
def beside(cpu: int) -> Iterator[None]:
    """Run on that processor ourselves, where Python can choose it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def kill_leftovers(home: Path) -> None:
    """End the programs under `home` that a predecessor of ours could not end, as it was killed."""
    for pid in processes_below(home):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def processes_below(home: Path) -> list[int]:
    """Return the numbers of the processes that run a program under `home`; none if ps(1) fails."""
    try:
        words = ("ps", "-A", "-ww", "-o", "pid=", "-o", "args=")
        listing = answer_of(words, deadline_s=_LISTING_S)
    except InfraError:
        return []  # their own timers end them, only later
    lines = (line.strip().partition(" ") for line in listing.stdout.splitlines())
    return [
        int(pid)
        for pid, _, command in lines
        if pid.isdecimal() and command.lstrip().startswith(f"{home}/")
    ]


def last_cpu() -> int:
    """The processor that is least disturbed by interrupts, of those that we may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(os.sched_getaffinity(0))
    return (os.cpu_count() or 1) - 1


def _confine(cpu: int, lifetime_s: float, output_limit: int) -> None:
    """Runs in the child, before the program: limits and a timer outlive exec."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (output_limit, output_limit))
    processor_s = math.ceil(lifetime_s)
    resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s + 1))
    signal.setitimer(signal.ITIMER_REAL, lifetime_s)


SAMPLE_FRAMES = 24  # DEPTH of sampler.c
_MOST_SAMPLES = 16384  # samples that a file has room for
_SAMPLE = struct.Struct(f"={1 + SAMPLE_FRAMES}Q")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ +(/.*)")
_SYMBOL = re.compile(r"([0-9a-f]+) ([0-9a-f]+) [tTwWiu] (\S+)")
_SHARED = 3  # ELF's e_type of what may be loaded anywhere
_NM_S = 30.0  # for nm(1), on a machine however busy
_COUNTER = "processor-time"


def can_name() -> bool:
    """Whether this system has what it takes to tell addresses' names."""
    return shutil.which("nm") is not None and Path("/proc/self/maps").exists()


def make_room(path: Path) -> None:
    """An empty file for the sampler, of the size that it wants."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(_MOST_SAMPLES * _SAMPLE.size)


def count_samples(path: Path) -> int:
    """How many samples a sampler's file has so far; InfraError when the program cut it."""
    return sum(1 for _ in _chains(path.read_bytes()))


def read_capture(path: Path, maps: str) -> Profile:
    """The capture in a sampler's file; `maps` is /proc/PID/maps of the program as it ran."""
    places = _Places(maps)
    counts = Counter(
        tuple(places.name(address) for address in reversed(chain))
        for chain in _chains(path.read_bytes())
    )
    stacks = (Stack(frames=frames, samples=count) for frames, count in sorted(counts.items()))
    return Profile(stacks=tuple(stacks), event=_COUNTER)


def _chains(data: bytes) -> Iterator[tuple[int, ...]]:
    """The addresses of each sample, innermost first; callers' are of the instruction after."""
    if len(data) % _SAMPLE.size:
        raise InfraError(f"the file of samples has {len(data)} bytes: the program changed its size")
    for depth, *frames in _SAMPLE.iter_unpack(data):
        if not depth:
            return
        inner, *callers = frames[: min(depth, SAMPLE_FRAMES)]
        yield (inner, *(caller - 1 for caller in callers))


class _Places:
    """What is mapped where in a process, and the names of its functions."""

    def __init__(self, maps: str) -> None:
        self._ranges: list[tuple[int, int, Path]] = []
        self._base: dict[Path, int] = {}
        self._tables: dict[Path, tuple[_Symbol, ...]] = {}
        for match in _MAPPING.finditer(maps):
            start, end, offset = (int(match[group], 16) for group in (1, 2, 3))
            path = Path(match[4].removesuffix(" (deleted)"))
            self._ranges.append((start, end, path))
            self._base.setdefault(path, start - offset)

    def name(self, address: int) -> str:
        """The function at an address, the file where it has no name, or where nothing is known."""
        for start, end, path in self._ranges:
            if start <= address < end:
                relative = address - self._base[path] if _is_shared(path) else address
                if path not in self._tables:
                    self._tables[path] = _symbols(path)
                symbols = self._tables[path]
                index = bisect_right(symbols, relative, key=lambda symbol: symbol.start) - 1
                if index >= 0 and relative < symbols[index].end:
                    return symbols[index].name
                return f"[{path.name}]"
        return "[unknown]"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Symbol:
    start: int
    end: int
    name: str


def _symbols(path: Path) -> tuple[_Symbol, ...]:
    """A file's functions by address; of one that was stripped those that it exports."""
    for options in (["-n", "-S"], ["-n", "-S", "-D"]):
        found = []
        told = answer_of(["nm", *options, "--", str(path)], deadline_s=_NM_S).stdout
        for match in _SYMBOL.finditer(told):
            start, size = int(match[1], 16), int(match[2], 16)
            found.append(_Symbol(start=start, end=start + size, name=match[3].partition("@")[0]))
        if found:
            return tuple(found)
    return ()


def _is_shared(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(18)
    return int.from_bytes(head[16:18], "little") == _SHARED
