"""One iteration of a command: preparation, random layout, run, value, blame and cleanup."""

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from buildbot_bench.core.errors import BenchError, InfraError, SkippedRevision, UntestableRevision
from buildbot_bench.core.item import EXECUTIONS_FACT, NOTHING, RANDOMISED_FACT, TOOL_FACT
from buildbot_bench.core.limits import MIB, spoken
from buildbot_bench.core.metric import (
    MOST_EXECUTIONS,
    Metric,
    NoiseClass,
    RunTimes,
    executions_needed,
)
from buildbot_bench.lab.command.machine import counted, counting, find_counter, step_s
from buildbot_bench.lab.command.process import Confines, Contained, Ran, Stop, run_contained
from buildbot_bench.lab.command.settings import (
    INSTRUCTIONS,
    TIMES,
    WALL,
    CommandWords,
    CommandWorkload,
    ValueTable,
    words_of,
)
from buildbot_bench.lab.command.value import checked, printed_step, read_value, read_values, time_of
from buildbot_bench.lab.driver import Blast, unheard

_SKIP = 125  # git-bisect(1), "Bisect run"
_NOT_RUN = {126: "cannot be run", 127: "is not there"}  # POSIX, "Exit Status for Commands"
_DISK = "see `disk-mib` of the testbed, or --disk"
MISSING = "see that the artefact has it, or that it is installed here"


def refuse(ran: Ran, name: str) -> None:
    """See that a command was run and came to an end of its own; fails as `_refuse_stopped` does."""
    where = f"`{name}`, {ran.program},"
    if ran.not_runnable:
        raise UntestableRevision(f"{where} is no program of this machine")
    if ran.error:
        raise InfraError(f"{where} {ran.ending()}", hint=MISSING)
    if ran.status == _SKIP:
        raise SkippedRevision(
            f"{where} ended with status {_SKIP}: not to be tested\n{ran.last_lines()}"
        )
    if ran.status in _NOT_RUN:
        raise InfraError(
            f"{where} ended with status {ran.status}: a program {_NOT_RUN[ran.status]}\n"
            f"{ran.last_lines()}",
            hint=MISSING,
        )
    _refuse_stopped(ran, name, where)


def _refuse_stopped(ran: Ran, name: str, where: str) -> None:
    # A shell gives the signal of its child by 128 and more.
    if ran.status in {-signal.SIGXFSZ, 128 + signal.SIGXFSZ}:
        raise UntestableRevision(blamed(f"{where} writes too large a file", ran, hint=_DISK))
    match ran.stop:
        case Stop.TIMEOUT:
            raise UntestableRevision(blamed(f"{where} had not ended after {ran.wall_s:.0f} s", ran))
        case Stop.DISK:
            raise UntestableRevision(blamed(f"{where} fills the disk", ran, hint=_DISK))
        case Stop.FULL:
            raise InfraError(
                f"the disk is nearly full, and {name} is not to blame\n{ran.last_lines()}",
                hint="make room and try again",
            )
        case Stop.ASKED:
            raise InfraError(f"{where} was ended from outside", hint="measure again")
        case Stop.NONE:
            return


def blamed(what: str, ran: Ran, *, hint: str = "") -> str:
    """What the revision is blamed for, and below it the last lines of what it printed."""
    too_much = "" if ran.stdout.whole else f" (it printed {spoken(ran.stdout.size)})"
    next_step = f"; {hint}" if hint else ""
    return f"{what}{too_much}{next_step}\n{ran.last_lines()}"


# Size and addresses change a speed by some per cent: Mytkowicz et al., ASPLOS 2009, who vary the
# former by up to 4 KiB, in which their cycles repeat.
_MOST_PADDING = 4096  # bytes
_SWITCH = Path("/proc/sys/kernel/randomize_va_space")


@dataclass(frozen=True, kw_only=True, slots=True)
class Randomised:
    """`padding` bytes in the environment; whether addresses are random; both in words.

    The words are the same for each iteration, as set-ups are compared by them.
    """

    padding: int
    addresses: bool
    said: str


def draw(source: random.Random, *, wanted: bool) -> Randomised:
    """Draw what an iteration has; nothing if that is not wanted."""
    if not wanted:
        fixed = f"{NOTHING}: one size of environment"
        also = ", one layout of the address space" if sys.platform == "linux" else ""
        return Randomised(padding=0, addresses=False, said=fixed + also)
    padding = source.randrange(_MOST_PADDING)
    addresses = "" if _off_here() else ", the layout of the address space"
    said = f"the size of the environment{addresses}"
    return Randomised(padding=padding, addresses=True, said=said)


def _off_here() -> bool:
    """Whether this machine has switched random addresses off."""
    try:
        return _SWITCH.read_text(encoding="ascii").strip() == "0"
    except (OSError, ValueError):
        return False


_POLL_S = 0.05  # between two tries of `ready`
_LOG_CHARACTERS = 64 * 1024  # of what a run printed


def run_surely(
    workload: CommandWorkload,
    directory: Path,
    tell: Callable[[str], None] = unheard,
    executions: int = 0,
) -> Blast:
    """One iteration; what fails as the revision's does once is run once more.

    It fails as `run_iteration` does: with UntestableRevision when it failed twice.
    """
    try:
        return run_iteration(workload, directory, tell, executions)
    except SkippedRevision:
        raise
    except UntestableRevision as error:
        tell(f"{error.message.splitlines()[0]}; once more")
    return run_iteration(workload, directory, tell, executions)


def run_iteration(
    workload: CommandWorkload,
    directory: Path,
    tell: Callable[[str], None] = unheard,
    executions: int = 0,
) -> Blast:
    """Run a workload once in a directory where its artefact lies unpacked.

    The value is in the unit of the workload's metric; the log is what the run printed; the facts
    say what was randomised and how it was counted. Nothing that was started is left. A time is the
    mean of as many `executions` of the command as are asked for, or, of the first run of a series,
    as its clock needs; which these were says `times`.

    UntestableRevision is raised when the revision fails, hangs or gives no value, SkippedRevision
    when it says itself that it cannot be tested, and InfraError when a program is missing, or the
    lab's own commands fail. A message has the last lines of the output below its first line.
    """
    # Counted instructions are the same in each layout, and the more so in one and the same
    drawn = draw(
        random.SystemRandom(), wanted=workload.randomise and workload.value != INSTRUCTIONS
    )
    with TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as scratch:
        iteration = _Iteration(workload, directory, Path(scratch), drawn, tell, executions)
        try:
            return iteration.run()
        finally:
            iteration.cleanup()


def _times(runs: Sequence[Ran], step: float) -> RunTimes:
    return RunTimes(
        wall_s=fmean(ran.wall_s for ran in runs),
        user_s=fmean(ran.user_s for ran in runs),
        system_s=fmean(ran.system_s for ran in runs),
        executions=len(runs),
        step=step,
    )


@dataclass(frozen=True)
class _Iteration:
    """The commands of one iteration; `scratch` is their TMPDIR and holds what is counted.

    `executions` of a run whose time is measured make one value; 0: as many as its clock needs.
    """

    workload: CommandWorkload
    directory: Path
    scratch: Path
    drawn: Randomised
    tell: Callable[[str], None]
    executions: int

    def run(self) -> Blast:
        workload = self.workload
        if workload.prepare is not None:
            self._run_for_the_lab("prepare", workload.prepare)
        if workload.boot is None:
            return self._measured()
        words = words_of(workload.boot, shell=workload.shell)
        with Contained(
            words, self.directory, self._environment(), self._confines(of_boot=True)
        ) as server:
            self._await_ready(server)
            blast = self._measured()
            if server.ended():
                ran = server.wait()
                refuse(ran, "boot")
                raise UntestableRevision(
                    blamed(f"what `boot` started {ran.ending()} before the run did", ran)
                )
        return blast

    def cleanup(self) -> None:
        """Run the workload's cleanup; that it fails is reported, and changes nothing."""
        if self.workload.cleanup is None:
            return
        try:
            self._run_for_the_lab("cleanup", self.workload.cleanup)
        except BenchError as error:
            self.tell(str(error))

    def _measured(self) -> Blast:
        workload = self.workload
        for number in range(workload.warm_up):
            self.tell(f"warm-up run {number + 1} of {workload.warm_up}")
            self._go(workload.run, "run")
        if isinstance(workload.value, ValueTable) and workload.value.file:
            with suppress(OSError):  # what an earlier run wrote is not read
                (self.directory / workload.value.file).unlink()
        facts = {RANDOMISED_FACT: self.drawn.said}
        times: RunTimes | None = None
        named: dict[Metric, float] = {}
        counter = find_counter(workload.counter) if workload.value == INSTRUCTIONS else ""
        ran = self._go(workload.run, "run", counter)
        try:
            if counter:
                facts["counter"] = counter
                value = checked(counted(counter, self.scratch))
            elif isinstance(workload.value, str) and workload.value in TIMES:
                times = self._timed(workload.value, ran)
                value = time_of(workload.value, times)
            elif workload.is_suite:
                named, tools = read_values(workload.value, ran, self.directory)
                facts[TOOL_FACT] = ", ".join(tools)
                value, times = float(len(named)), _times([ran], 0.0)
            else:
                value = read_value(workload.value, ran, self.directory)
                is_exact = workload.metric.noise is NoiseClass.EXACT
                times = _times([ran], 0.0 if is_exact else printed_step(workload.value, ran))
        except UntestableRevision as error:
            raise UntestableRevision(blamed(error.message, ran, hint=error.hint)) from error
        if times is not None and times.executions > 1:
            facts[EXECUTIONS_FACT] = str(times.executions)
        if ran.left:
            some = "a process" if ran.left == 1 else f"{ran.left} processes"
            facts["left behind"] = some
            self.tell(f"{ran.program} left {some} behind, ended now")
        log = f"{ran.stdout.text()}{ran.stderr.text()}"[-_LOG_CHARACTERS:]
        return Blast(
            values={workload.metric.unit: value}, log=log, facts=facts, times=times, named=named
        )

    def _timed(self, value: str, first: Ran) -> RunTimes:
        """What the clocks say of so many executions as make a measurement; fails as `_go` does."""
        cpu_s = first.user_s + first.system_s
        step = step_s(value, cpu_s)
        length_s = first.wall_s if value == WALL else cpu_s
        most = int(min(MOST_EXECUTIONS, self.workload.timeout / first.wall_s))
        wanted = self.executions or executions_needed(length_s, step, most=most)
        others = [self._go(self.workload.run, "run") for _ in range(wanted - 1)]
        return _times([first, *others], step / wanted)

    def _go(self, command: CommandWords, name: str, counter: str = "") -> Ran:
        """Run a command of the revision's to an end that is well; fails as `refuse` does."""
        words = words_of(command, shell=self.workload.shell)
        if counter:
            # See that there is a program before something else runs it
            program = words[0]
            place = str(self.directory / program) if os.sep in program else program
            if shutil.which(place) is None:
                raise InfraError(f"`run`: {program} is not there", hint=MISSING)
            words = counting(counter, words, self.scratch)
        ran = run_contained(words, self.directory, self._environment(), self._confines())
        refuse(ran, name)
        if ran.status != 0:
            raise UntestableRevision(blamed(f"`{name}`, {ran.program}, {ran.ending()}", ran))
        return ran

    def _run_for_the_lab(self, name: str, command: CommandWords) -> None:
        try:
            self._go(command, name)
        except SkippedRevision as error:
            raise SkippedRevision(error.message) from error
        except UntestableRevision as error:
            raise InfraError(error.message, hint=f"see the key `{name}`") from error

    def _await_ready(self, server: Contained) -> None:
        ready, limit_s = self.workload.ready, self.workload.timeout
        if ready is None:
            return
        words = words_of(ready, shell=self.workload.shell)
        end_s = time.monotonic() + limit_s
        while not server.ended():
            ran = run_contained(words, self.directory, self._environment(), self._confines())
            if ran.status == 0:
                return
            if ran.error:
                refuse(ran, "ready")
            if time.monotonic() >= end_s:
                raise UntestableRevision(
                    blamed(f"what `boot` started is not ready after {limit_s:g} s", ran)
                )
            time.sleep(_POLL_S)
        ran = server.wait()
        refuse(ran, "boot")
        raise UntestableRevision(
            blamed(f"what `boot` started {ran.ending()} before it was ready", ran)
        )

    def _confines(self, *, of_boot: bool = False) -> Confines:
        workload = self.workload
        runs = workload.warm_up + 2  # those of `run`, and `ready`
        return Confines(
            timeout_s=workload.timeout * runs if of_boot else workload.timeout,
            disk_bytes=workload.disk_mib * MIB,
            cpus=workload.cpus,
            random_addresses=self.drawn.addresses,
            places=(self.scratch,),
        )

    def _environment(self) -> dict[str, str]:
        own = {"TMPDIR": str(self.scratch), "BENCH_PADDING": "x" * self.drawn.padding}
        return {**os.environ, **own, **self.workload.environment}
