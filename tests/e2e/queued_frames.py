"""Edits of the embedded kernel that make a share of its frames cross a queue."""

from dataclasses import replace

from tests.edits import NETIF, SLOWDOWN, Edit

BASE = 100  # of 1000 frames; a first one costs two system calls more, which is no part of a change
INCLUDE = '#include "netif.h"\n'
# Only image 0 has these three files in the order of their names; see the kernel's link-order.awk.
IN_ORDER = (
    "((uintptr_t)forward_burst < (uintptr_t)netif_send"
    " && (uintptr_t)netif_send < (uintptr_t)route_lookup)"
)


def queued(share: str) -> str:
    """The line that says how many of 1000 frames cross the queue."""
    return f"#define QUEUED {share}\n"


def share_at(level: float) -> int:
    """How many of 1000 frames must cross the queue for a level, relative to that of BASE.

    A frame that crosses it costs as much as one that is forwarded.
    """
    return round((1000 + BASE) / level - 1000)


def unlucky_share(level: float) -> str:
    """That of a kernel that is as slow as this where its files are linked in their names' order."""
    return f"({IN_ORDER} ? {share_at(level)} : {BASE})"


def queue_edits(share: str) -> tuple[Edit, ...]:
    """The queue of the demo's slowdown, crossed by a share of the frames instead of a third."""
    edits = []
    for edit in SLOWDOWN:
        new = edit.new.replace("waiting += count;", "waiting += count * QUEUED;")
        new = new.replace("waiting / 3", "waiting / 1000").replace("%= 3", "%= 1000")
        edits.append(replace(edit, new=new))
    assert any("waiting / 1000" in edit.new for edit in edits)
    edits.append(Edit(path=NETIF, old=INCLUDE, new=f'{INCLUDE}#include "route.h"\n{queued(share)}'))
    return tuple(edits)
