"""Budgets for input from outside: bytes, members, depth and seconds."""

from dataclasses import dataclass

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

DEFAULT_IMAGES, MOST_IMAGES = 16, 24
"""Images of a variant in a comparison: at most, unless it is said, and at most of all. The first is
as many as the last look at a difference is planned for (model.constants.SURE_FROM)."""

MOST_VARIANTS, MOST_LABEL = 32, 60
"""Variants of a comparison, and letters of what one is called. Chosen: five factors without and
with a change make 32; five boots of each are a night at three minutes a boot."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveBudget:
    """What an archive may have, packed or not, and what reading it may take.

    Attributes:
        total_bytes: Of the file, and of all that it unpacks to.
        member_bytes: Of one file in it.
        members: Files, directories and links.
        header_bytes: Of all headers of one member: long names, pax records, maps of holes.
        memory_bytes: Of the address space of a process that reads it.
        cpu_s: Of the processor, for reading it.
        wall_s: By the clock: a disk that hangs is not waited for.
    """

    total_bytes: int
    member_bytes: int
    members: int
    header_bytes: int
    memory_bytes: int
    cpu_s: int
    wall_s: int


# Measured (FreeBSD 14, amd64): GENERIC with 900 modules and all symbols unpacks to 300 MB, its
# largest file, kernel.debug, has 100 MB. POSIX's PATH_MAX is 4 KiB: two names and their records
# take 16. Of a member that is digested there are four copies at a time (archives.contents);
# Python takes 200 MiB of addresses. Chosen: seven times the size, twice the largest file, and a
# minute for each 400 MB, which is ten times what a slow processor takes.
KERNEL_ARCHIVE = ArchiveBudget(
    total_bytes=2 * GIB,
    member_bytes=256 * MIB,
    members=20_000,
    header_bytes=64 * KIB,
    memory_bytes=1536 * MIB,
    cpu_s=300,
    wall_s=3600,
)

# Rows of any list that REST answers with: as many boots as a search may take
# (`SearchPolicy.max_measurements`), which is the longest list that a page shows whole.
LISTED_ROWS = 2000

# Iterations in one file of a series. Chosen: a testbed that boots every three minutes takes seven
# months for so many; they are 20 MB of text, and 100 MB of memory while they are written.
EXPORTED_ROWS = 100_000

# bench.yml. Chosen: ten times what 50 testbeds, 20 workloads and 5 branches take when each is
# written out; nothing in the schema is nested deeper than eight.
WORKFLOW_BYTES = MIB
WORKFLOW_NODES = 50_000  # an alias counts as all that it stands for
WORKFLOW_DEPTH = 50


def spoken(size: int) -> str:
    """A number of bytes as budgets are written: `2 GiB`, `64 KiB`, `100 bytes`."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
