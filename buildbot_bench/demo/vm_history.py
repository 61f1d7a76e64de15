"""A git history of the virtual machine's kernel, r320000 to r320010."""

from __future__ import annotations

from pathlib import Path

from buildbot_bench.demo.generated_history import write_history
from buildbot_bench.demo.patched_history import Change, patched_commits, read_changes

IMPORT = Change(
    label="r320000", author="alice", message="Import the kernel: it forwards between two NICs"
)
SOURCES = "vm_kernel"
CHANGES = read_changes("vm")
LABELS = (IMPORT.label, *(change.label for change in CHANGES))

# What is true of the history, for whoever wants to know whether it was found out.
SLIGHTLY_SLOWER = "r320003"  # by half a percent of the instructions for a packet
SLOWER = "r320008"  # by a fifth or more of the packets per second
PANICS = "r320005"
HANGS = "r320006"


def make_vm_history(path: Path) -> dict[str, str]:
    """Make the bare repository `path`; returns the hash of each label, oldest first."""
    return write_history(path, list(patched_commits(SOURCES, IMPORT, CHANGES)))
