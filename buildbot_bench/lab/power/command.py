"""Power by commands of the lab controller, such as those of a PDU or a relay."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.tables import LocalCommand


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandPower:
    """`cycle` is one command; or `off`, `pause_s`, `on`. `status`, when given, must succeed."""

    DRIVER: ClassVar[str] = "command"

    cycle_command: LocalCommand = ()
    off: LocalCommand = ()
    on: LocalCommand = ()
    status: LocalCommand = ()
    pause_s: float = 5.0
    deadline_s: float = 60.0

    def cycle(self) -> None:
        """Take the power away and give it back."""
        if self.cycle_command:
            run(self.cycle_command, self.deadline_s)
            return
        if not (self.off and self.on):
            raise InfraError("power: no command", hint="give cycle_command, or off and on")
        run(self.off, self.deadline_s)
        time.sleep(self.pause_s)
        run(self.on, self.deadline_s)

    def check(self) -> str:
        """What the power driver says of itself, without touching the machine."""
        if not self.cycle_command and not (self.off and self.on):
            raise InfraError("power: no command", hint="give cycle_command, or off and on")
        return run(self.status, self.deadline_s) if self.status else "has no status command"


def run(command: Sequence[str], deadline_s: float) -> str:
    """What a command printed."""
    name = command[0]
    try:
        result = subprocess.run(  # noqa: S603 - a list, no shell
            list(command),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=deadline_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise InfraError(f"power: cannot run {name}: {error}", hint="install it") from error
    except subprocess.TimeoutExpired as error:
        raise InfraError(f"power: {name} came to no end within {deadline_s:g} s") from error
    said = (result.stdout + result.stderr).strip()
    if result.returncode != 0:
        raise InfraError(f"power: {name} failed: {said[-300:]}", hint=f"try {' '.join(command)}")
    return said
