"""Repositories whose revisions have the numbers of recorded kernels.

The model case is r311848 to r313448; the recorded history adds the revisions of the archive's
published comparisons. Building a kernel is copying the file `kernel`, whose only line is the
revision's label.
"""

from __future__ import annotations

from pathlib import Path

from buildbot_bench.demo.generated_history import MAIN, GeneratedCommit, write_history

FIRST_SVN = 311848
LAST_SVN = 313448

_AUTHORS = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy")
_AREAS = (
    ("sys/dev/e1000", "em: correct the interrupt throttling of the 82574"),
    ("sys/net", "if_lagg: do not sleep while the lock is held"),
    ("bin/sh", "sh: keep the exit status of a trap"),
    ("sys/netpfil/ipfw", "ipfw: count dynamic rules per rule"),
    ("share/man", "netstat.1: mention -R"),
    ("sys/kern", "subr_taskqueue: say which thread a task waits for"),
    ("usr.bin/top", "top: show the load of idle threads"),
    ("sys/vm", "vm_page: drop a check that cannot fail"),
    ("sys/arm64", "arm64: map the device tree read-only"),
    ("contrib/llvm", "Merge a fix for the register allocator"),
    ("sys/netinet", "tcp: use the cached route when the socket is bound"),
    ("tools/regression", "Add a test of kqueue timers"),
)
# Invented like the rest, but for what the archive says: iflib came with r311849.
_SUBJECTS = {
    311849: ("heidi", "Convert the e1000 drivers (em, lem, igb) to iflib"),
    312904: ("heidi", "iflib: let the driver choose the length of its receive queue"),
    312905: ("heidi", "iflib: prefetch the next descriptor"),
    313448: ("heidi", "iflib: drain the transmit ring from the receive path"),
}


STABLE = "stable/10"
# FreeBSD's stable/10 parted from head in October 2013; nothing of then was recorded.
_FORK_SVN = 256281
_BEFORE = (_FORK_SVN, 295150, 299288)
_AFTER = (317849,)
_ON_STABLE = (256282, 295802)


def make_replay_history(path: Path) -> dict[str, str]:
    """Make the model case's bare repository; returns the hash of each label, oldest first."""
    return write_history(path, [_commit(svn) for svn in range(FIRST_SVN, LAST_SVN + 1)])


def make_recorded_history(path: Path) -> dict[str, str]:
    """Make one of all that was recorded, with a branch stable/10; the hash of each label."""
    head = [*_BEFORE, *range(FIRST_SVN, LAST_SVN + 1), *_AFTER]
    stable = [_commit(svn, branch=STABLE, parent=_FORK_SVN) for svn in _ON_STABLE]
    return write_history(path, [*map(_commit, head), *stable])


def _commit(svn: int, *, branch: str = MAIN, parent: int | None = None) -> GeneratedCommit:
    author, subject = _SUBJECTS.get(svn) or _plausible(svn)
    return GeneratedCommit(
        svn=svn,
        author=author,
        message=f"{subject}\n",
        files={"kernel": f"r{svn}\n"},
        branch=branch,
        parent=parent,
    )


def _plausible(svn: int) -> tuple[str, str]:
    area, subject = _AREAS[svn * 7 % len(_AREAS)]
    return _AUTHORS[svn * 3 % len(_AUTHORS)], f"{subject} ({area}, {svn % 9 + 1} of 9)"
