"""Power switches: commands of the lab controller, as of a PDU or a relay, and ipmitool(1)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.tables import LocalCommand, Program
from buildbot_bench.programs import output_of


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
    try:
        return output_of(command, deadline_s=deadline_s).strip()
    except InfraError as error:
        raise InfraError(f"power: {error.message}", hint=error.hint) from error


_IPMITOOL = Program("ipmitool")


@dataclass(frozen=True, kw_only=True, slots=True)
class IpmiPower:
    """`password_file` holds one line; a password is never an argument that ps(1) shows."""

    DRIVER: ClassVar[str] = "ipmi"

    host: str
    user: str
    password_file: Path
    interface: str = "lanplus"
    program: Program = _IPMITOOL
    deadline_s: float = 60.0

    def __post_init__(self) -> None:
        for key, text in (("host", self.host), ("user", self.user)):
            if not text or text.startswith("-"):
                raise UsageError(f"{key}: {quoted(text, columns=60)} cannot be one")

    def cycle(self) -> None:
        """Take the power away and give it back, or switch on what is off."""
        off = self.check().lower().endswith("off")
        run(self._command("on" if off else "cycle"), self.deadline_s)

    def check(self) -> str:
        """What the controller says: `Chassis Power is on`."""
        return run(self._command("status"), self.deadline_s)

    def _command(self, verb: str) -> list[str]:
        access = ["-I", self.interface, "-H", self.host, "-U", self.user]
        return [self.program, *access, "-f", str(self.password_file), "chassis", "power", verb]


Power = CommandPower | IpmiPower
