"""The interface that runs a kept build once, and its form for a command testbed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from buildbot_bench.lab.command.iteration import run_surely
from buildbot_bench.lab.command.machine import coarse, coarse_beforehand
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.lab.driver import Blast
from buildbot_bench.local.store import StoredRun

# How many bytes it was this time is not a fact of the set-up.
_BYTES = re.compile(r" \(\d+ bytes more\)")


class Measurer(Protocol):
    """Runs what was built once."""

    def measure(self, directory: Path, tell: Callable[[str], None], executions: int = 0) -> Blast:
        """The value of one run in a directory where a build lies unpacked.

        `executions` of the command make one run, as in the runs before; 0: there were none.

        Raises:
            UntestableRevision: The revision fails, hangs or gives no value.
            InfraError: The machine or the command itself is to blame.
        """


def coarse_value(workload: CommandWorkload, runs: Sequence[StoredRun], min_effect: float) -> str:
    """Return what is to be said of a value whose step is too coarse for an effect; else nothing.

    The newest of `runs` shows how long one is. Without any, nothing is run to find out: the text
    says how long a run has to be.
    """
    for run in reversed(runs):
        if run.value is not None and run.times is not None:
            return coarse(workload, run.value, run.times, min_effect)
    return coarse_beforehand(workload, min_effect)


class CommandMeasurer:
    """Runs a workload's command; says of the first run that it is too coarse for `min_effect`."""

    def __init__(self, workload: CommandWorkload, min_effect: float) -> None:
        self._workload = workload
        self._min_effect = min_effect

    def measure(self, directory: Path, tell: Callable[[str], None], executions: int = 0) -> Blast:
        """As the port says."""
        blast = run_surely(self._workload, directory, tell, executions)
        (value,) = blast.values.values()
        # Where there are runs it was said before the first build.
        if blast.times and not executions:
            said = coarse(self._workload, value, blast.times, self._min_effect)
            if said:
                tell(said)
        facts = {name: _BYTES.sub("", said) for name, said in blast.facts.items()}
        return replace(blast, facts=facts)
