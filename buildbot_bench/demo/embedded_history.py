"""A git history of the embedded kernel, with one slow commit in it.

r311840 to r311853: most are innocent, one makes the kernel slow by about a quarter, one does not
compile, one crashes at start, and two change no byte of the program.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.demo.generated_history import write_history
from buildbot_bench.demo.patched_history import Change, patched_commits, read_changes, read_patch

IMPORT = Change(
    label="r311840", author="alice", message="Import the embedded kernel: a packet forwarder"
)
SOURCES = "kernel"
CHANGES = read_changes("embedded")
SLOWDOWN = read_patch("embedded", "slowdown.patch")
LABELS = (IMPORT.label, *(change.label for change in CHANGES))

# What is true of the history, for whoever wants to know whether it was found out.
CULPRIT = "r311849"
DOES_NOT_COMPILE = frozenset({"r311846"})
CRASHES = frozenset({"r311844"})
UNCHANGED = frozenset({"r311843", "r311850"})  # the program is its predecessor's, byte for byte


def make_embedded_history(path: Path, culprit: str = CULPRIT) -> dict[str, str]:
    """Make the bare repository `path`; returns the hash of each label, oldest first.

    `culprit` is the commit that gets the slowdown. The messages stay as they are: the one of
    r311849 suggests what it need not do.
    """
    if culprit not in LABELS[1:]:
        raise UsageError(
            f"no commit {quoted(culprit)}", hint=f"there are {LABELS[1]} to {LABELS[-1]}"
        )
    planted = [
        replace(change, patches=(*change.patches, SLOWDOWN)) if change.label == culprit else change
        for change in CHANGES
    ]
    return write_history(path, list(patched_commits(SOURCES, IMPORT, planted)))
