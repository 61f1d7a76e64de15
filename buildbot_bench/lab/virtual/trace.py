"""The instructions that a guest executed, by function, read from QEMU's log.

QEMU logs each block of instructions before it runs it (`-d exec,nochain`), here blocks of one
instruction. Blocks that were not run, or were wound back to run anew (accesses to devices under
-icount), are logged as such. A repeated string instruction counts once for each repetition, and
once more for its end.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.model import EXECUTED, Profile, Stack
from buildbot_bench.lab.virtual.elf import Symbols
from buildbot_bench.lab.virtual.phases import Executed

_RUN = re.compile(rb"Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
_NOT_RUN = re.compile(
    rb"Stopped execution of TB chain before 0x[0-9a-f]+ \[([0-9a-f]+)\]"
    rb"|cpu_io_recompile: rewound execution of TB to ([0-9a-f]+)"
)


def executed(lines: Iterable[bytes]) -> Executed:
    """How often each address was executed."""
    counts: Counter[bytes] = Counter()
    for line in lines:
        if run := _RUN.match(line):
            counts[run[1]] += 1
        elif not_run := _NOT_RUN.match(line):
            counts[(not_run[1] or not_run[2]).rjust(16, b"0")] -= 1
    return Counter({int(address, 16): count for address, count in counts.items()})


def read_trace(path: Path) -> Executed:
    """What a log holds."""
    try:
        with path.open("rb") as file:
            found = executed(file)
    except OSError as error:
        raise InfraError(f"QEMU wrote no log of what it executed: {error}") from error
    if not found:
        raise InfraError(
            "QEMU logged no instruction", hint="it must be built with its TCG and its log"
        )
    return found


def by_function(counts: Executed, packets: int, symbols: Symbols) -> Profile:
    """The same as a profile: how many instructions each function executed, the most first."""
    totals: Counter[str] = Counter()
    for address, count in counts.items():
        totals[symbols.name_at(address)] += count
    stacks = [Stack(frames=(name,), samples=count) for name, count in totals.most_common()]
    return Profile(stacks=tuple(stacks), event=EXECUTED, packets=packets)


def as_table(profile: Profile) -> str:
    """Instructions per packet by function, one a line."""
    lines = [f"{stack.samples / profile.packets:10.2f}  {stack.leaf}" for stack in profile.stacks]
    return "\n".join(["instructions per packet", *lines, ""])
