"""Power by a machine's management controller, through ipmitool(1)."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.power.command import run
from buildbot_bench.lab.tables import Program

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
