"""What testbeds.toml may say of a testbed in a virtual machine; it starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import UsageError

PPS = "pps"
INSTRUCTIONS = "instructions/packet"
_METRICS = (PPS, INSTRUCTIONS)
_ACCELERATORS = ("tcg", "auto")


@dataclass(frozen=True, kw_only=True, slots=True)
class QemuSettings:
    """One virtual machine, and what is counted on it.

    `metric` is "pps" or "instructions/packet". The former is taken from `bursts` bursts of 64
    packets, the latter from `traced_bursts`: four, which is each slot of a ring of 256 once.
    `accelerator` is "tcg", or "auto": KVM if a boot shows that it works, for pps only.
    `known_good` is a kernel that works; without it, the last one that forwarded here is taken.
    `boot_timeout_s` is how long a kernel may take until it forwards, `stall_s` how long a packet
    may stay away.
    """

    program: str = "qemu-system-x86_64"
    memory_mib: int = 64
    metric: str = PPS
    accelerator: str = "tcg"
    known_good: Path | None = None
    bursts: int = 1500
    traced_bursts: int = 4
    boot_timeout_s: float = 15.0
    stall_s: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what is no metric and no accelerator; raises UsageError."""
        if self.metric not in _METRICS:
            raise UsageError(
                f"metric is {self.metric!r}", hint=f"it may be {' or '.join(_METRICS)}"
            )
        if self.accelerator not in _ACCELERATORS:
            raise UsageError(
                f"accelerator is {self.accelerator!r}",
                hint=f"it may be {' or '.join(_ACCELERATORS)}",
            )
        if min(self.bursts, self.traced_bursts, self.memory_mib) < 1:
            raise UsageError("bursts, traced_bursts and memory_mib must be above zero")
        if self.exact and self.accelerator != "tcg":
            raise UsageError(
                "instructions are counted by QEMU's translator alone", hint='accelerator = "tcg"'
            )

    @property
    def exact(self) -> bool:
        """Whether instructions are counted, which repeats to the digit."""
        return self.metric == INSTRUCTIONS
