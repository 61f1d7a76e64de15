"""A capture: the call stacks in which samples found a DUT's CPUs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from posixpath import normpath

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


# More functions than a packet visits by far: FreeBSD executes some 300 to forward one.
MOST_PLACES = 4096
_PATH_COLUMNS = 200  # characters; chosen: more than FreeBSD's longest paths have
_PLACE = re.compile(rf"[^\s:][^:]{{0,{_PATH_COLUMNS - 1}}}:[1-9][0-9]{{0,6}}")
# Where builders say that sources and objects are; see build/freebsd.py.
_SOURCE, _OBJECTS = "/usr/src/", "/usr/obj/"
_KERNEL = "/sys/"
# What a column of the database holds.
_MOST_PACKETS = (1 << 31) - 1


def tidy_places(reported: object, names: Collection[str]) -> dict[str, str]:
    """The places of those functions of all that a lab reports; other lines give nothing."""
    if not isinstance(reported, Mapping):
        return {}
    found = {
        name: place
        for name in names
        if isinstance(place := reported.get(name), str)
        and place.isprintable()
        and _PLACE.fullmatch(place)
    }
    return dict(list(found.items())[:MOST_PLACES])


def tidy_packets(reported: object) -> int:
    """How many packets a lab says that it counted for; 0 for what is no number of packets."""
    if not isinstance(reported, int) or isinstance(reported, bool):
        return 0
    return reported if 0 < reported <= _MOST_PACKETS else 0


def path_in_git(path: str) -> str:
    """A source's path as git has it: `sys/netinet/ip_input.c` of `/usr/src/sys/netinet/ip_input.c`.

    Builders map the source tree to /usr/src; of another path, what is before the first `sys` is
    taken for that tree. What is generated among the objects is in no git and keeps its path.
    """
    path = normpath(path)
    if path.startswith(_SOURCE):
        return path.removeprefix(_SOURCE)
    before, found, within = path.partition(_KERNEL)
    if not found or before.startswith(_OBJECTS):
        return path
    return f"sys/{within}"


def lies_in(place: str, path: str) -> bool:
    """Whether a place is in that file, a path in git."""
    known = place.rpartition(":")[0]
    return known == path or known.endswith(f"/{path}")
