"""A capture: the call stacks in which samples found a DUT's CPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from buildbot_bench.core.errors import InfraError

# From this share on a capture tells of the idle loop, not of the traffic. 53 of the archive's 61
# captures of an APU2 missed the traffic and are idler than this; one that shows line rate with CPUs
# to spare is 58 % idle.
MOSTLY_IDLE = 0.8

# An event that is counted, each time it comes, and not sampled: two captures of the same packets
# differ by what the kernel does differently, and by nothing else.
EXECUTED = "executed instructions"

# The idle thread of each of FreeBSD's schedulers, by its old and new names, and what it calls. A
# stack that has lost its outer callers may still show the latter.
_IDLE_SYMBOLS = frozenset({"sched_idletd", "sched_ule_idletd", "sched_4bsd_idletd", "cpu_idle"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """One call stack, outermost caller first, and how many samples found a CPU in it."""

    frames: tuple[str, ...]
    samples: int

    @property
    def leaf(self) -> str:
        """The function that was running."""
        return self.frames[-1]

    @property
    def is_idle(self) -> bool:
        """Whether the CPU had nothing to do; an interrupt that it took meanwhile counts as idle."""
        return not _IDLE_SYMBOLS.isdisjoint(self.frames)


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """All stacks of a capture, in the order read; the same stack stands once for each CPU.

    `packets` is on how many packets an exact capture's counts are based, 0 where that is unknown.
    `places` has the place of functions, `sys/netinet/ip_input.c:842`, by their names.
    """

    stacks: tuple[Stack, ...]
    event: str = ""
    packets: int = 0
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_exact(self) -> bool:
        """Whether the samples are no samples, but all there was."""
        return self.event == EXECUTED

    @property
    def is_per_packet(self) -> bool:
        """Whether it tells what a packet costs: it is exact, and its packets are known."""
        return self.is_exact and self.packets > 0

    def merged(self) -> Profile:
        """The same capture with each different stack once, in the order of their names."""
        counts: Counter[tuple[str, ...]] = Counter()
        for stack in self.stacks:
            counts[stack.frames] += stack.samples
        stacks = tuple(Stack(frames=frames, samples=counts[frames]) for frames in sorted(counts))
        return replace(self, stacks=stacks)

    @property
    def samples(self) -> int:
        """How many samples there are, idle ones included."""
        return sum(stack.samples for stack in self.stacks)

    @property
    def busy(self) -> tuple[Stack, ...]:
        """The stacks of CPUs that were at work: all shares are of these."""
        return tuple(stack for stack in self.stacks if not stack.is_idle)

    @property
    def busy_samples(self) -> int:
        """How many samples are not idle."""
        return sum(stack.samples for stack in self.busy)

    @property
    def idle_share(self) -> float:
        """The idle fraction of all samples; 1 when there are none."""
        total = self.samples
        return 1 - self.busy_samples / total if total else 1.0

    @property
    def mostly_idle(self) -> bool:
        """Whether the capture shows so little work that it probably missed the traffic."""
        return self.idle_share >= MOSTLY_IDLE


def require_traffic(profile: Profile, *, capture: str) -> None:
    """Refuse a capture that missed the traffic; `capture` is what to call it."""
    if profile.mostly_idle:
        raise InfraError(
            f"{capture}: {profile.idle_share:.1%} of {profile.samples} samples are idle, and from "
            f"{MOSTLY_IDLE:.0%} on a capture does not show the traffic",
            hint="capture again, and begin to sample when traffic is seen",
        )
