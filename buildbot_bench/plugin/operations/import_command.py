"""`bench-import`: read the command line, then import the modules that do the work."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.legible import long_line
from buildbot_bench.installed import ShowVersion

_EPILOG = """\
Each ARCHIVE is a netbenches tree, or a part of one: result directories with
bench.*.info, logs and .pps, at times in RAW/; or a series as a farm's History
exports it (FILE.csv); or a file or directory in any format that bench-judge
reads, of which --workload SERIES=WORKLOAD names what to take. Plain revisions
become samples of the testbed, so that the farm has learnt its noise before its
first boot.
Variants and profiled runs are left out; what contradicts itself (a label that
is not what was booted, logs that do not give the values) is refused and listed.

exit status: 0 all is kept · 2 a mistake in the request · 3 something was refused"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(argv)
    # Not for --help.
    from buildbot_bench.plugin.operations.import_archives import import_archives  # noqa: PLC0415

    try:
        tally = import_archives(options)
    except BenchError as error:
        print(f"bench-import: {long_line(str(error))}", file=sys.stderr)
        return 2
    for line in tally.refused:
        print(f"refused  {line}")
    would = "would be " if options.dry_run else ""
    print(
        f"{tally.kept} groups with {tally.iterations} iterations {would}kept,"
        f" {tally.known} known already, {tally.left_out} left out, {len(tally.refused)} refused;"
        f" of those kept {tally.unconfirmed} kernels did not say which revision they are"
    )
    return 3 if tally.refused else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench-import",
        description="Give a testbed its past: a netbenches archive, or what others measured.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=ShowVersion)
    parser.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    parser.add_argument("--workflow", type=Path, default=Path("bench.yml"), help="bench.yml")
    parser.add_argument(
        "--master", type=Path, required=True, help="the master's directory, started once before"
    )
    parser.add_argument("--db", metavar="URL", help="its database (default: its state.sqlite)")
    parser.add_argument(
        "--repository",
        metavar="NAME",
        help="which of bench.yml's repositories was measured (default: the first one)",
    )
    parser.add_argument("--testbed", required=True, help="which of the farm's it was measured on")
    parser.add_argument(
        "--workload",
        action="append",
        default=[],
        metavar="CFG=WORKLOAD",
        help="what the archive calls CFG, or a series, is the farm's WORKLOAD; the same name needs"
        " no saying",
    )
    parser.add_argument(
        "--epoch",
        help="one epoch for all, as that of the lab today (default: one for each directory)",
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="tell, and keep nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
