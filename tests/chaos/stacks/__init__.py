"""The stacks of a farm's threads, which its processes log on SIGUSR2."""

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from buildbot_bench.demo.watching import Child

_PATHS = (str(Path(__file__).with_name("at_start")), os.environ.get("PYTHONPATH", ""))
SHOWN = {"PYTHONPATH": os.pathsep.join(filter(None, _PATHS))}
"""The environment of a process that can be asked."""
_WRITING_S = 1.0


def ask(children: Iterable[Child]) -> None:
    """Have those that run write down where they are; one that hangs does so too."""
    for child in children:
        if child.process is not None and child.running:
            child.process.send_signal(signal.SIGUSR2)
    time.sleep(_WRITING_S)
