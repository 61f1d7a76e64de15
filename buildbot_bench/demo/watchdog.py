"""The watchdog process, which ends a farm's processes when the farm's keeper has ended.

python -m buildbot_bench.demo.watchdog DIRECTORY GRACE_S, its standard input from the keeper.
"""

from __future__ import annotations

import sys
from pathlib import Path

from buildbot_bench.core.errors import BenchError
from buildbot_bench.demo.processes import end_all


def main(arguments: list[str]) -> int:
    """Wait for the end of standard input, then end all; the status says whether that went."""
    directory, grace_s = arguments
    sys.stdin.buffer.read()
    try:
        end_all(Path(directory), grace_s=float(grace_s))
    except BenchError as problem:
        print(f"watchdog: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
