"""`bench-bisect`: read the command line, then import the module that answers it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from buildbot_bench.cli.arguments import asks_no_farm, parse_command
from buildbot_bench.cli.console import exit_status_of
from buildbot_bench.cli.local_arguments import parse_local_bisect


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; `argv` without its name, sys.argv's when None. Returns the exit status."""
    given = sys.argv[1:] if argv is None else argv
    return exit_status_of("bench-bisect", lambda: _main(given))


def _main(argv: Sequence[str]) -> int:
    if asks_no_farm(argv):
        options = parse_local_bisect(argv)
        from buildbot_bench.cli import local_bisect  # noqa: PLC0415 - not for --help

        return local_bisect.run(options)
    command = parse_command(argv, os.environ)
    from buildbot_bench.cli import farm_bisect  # noqa: PLC0415 - not for --help

    return farm_bisect.run(command)


if __name__ == "__main__":
    sys.exit(main())
