"""The build ID and the last words of a kernel, found in its console's text."""

import re

from buildbot_bench.lab.hardware.boot_watch import panic_in

_BUILD_ID = re.compile(r"^(?:build-id|kern\.build_id): ([0-9a-f]{8,64})\s*$", re.MULTILINE)
_SHOWN = 120  # characters of a line
_LAST_LINES = 5  # lines


def build_id_in(console: str) -> str:
    """The build ID that a kernel printed as it booted; empty if it did not."""
    match = _BUILD_ID.search(console)
    return match[1] if match else ""


def last_lines(console: str) -> str:
    """The last lines that are not empty, in one; for an error that somebody must fix."""
    lines = [line.strip()[:_SHOWN] for line in console.splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:]) or "nothing"


def last_words(console: str) -> str:
    """A panic, or else the last line that is not empty, in a clause; empty for a silent one."""
    if panic := panic_in(console):
        return panic[:_SHOWN]
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    return f"its last words: {lines[-1][:_SHOWN]}" if lines else "its console stayed silent"
