"""The interface that runs a kept build once, and its form for a command testbed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from buildbot_bench.lab.command.iteration import run_surely
from buildbot_bench.lab.command.settings import CommandWorkload
from buildbot_bench.lab.driver import Blast

# How many bytes it was this time is not a fact of the set-up.
_BYTES = re.compile(r" \(\d+ bytes more\)")


class Measurer(Protocol):
    """Runs what was built once."""

    def measure(self, directory: Path, tell: Callable[[str], None]) -> Blast:
        """The value of one run in a directory where a build lies unpacked.

        Raises:
            UntestableRevision: The revision fails, hangs or gives no value.
            InfraError: The machine or the command itself is to blame.
        """


class CommandMeasurer:
    """Runs a workload's command."""

    def __init__(self, workload: CommandWorkload) -> None:
        self._workload = workload

    def measure(self, directory: Path, tell: Callable[[str], None]) -> Blast:
        """As the port says."""
        blast = run_surely(self._workload, directory, tell)
        facts = {name: _BYTES.sub("", said) for name, said in blast.facts.items()}
        return Blast(values=blast.values, log=blast.log, facts=facts)
