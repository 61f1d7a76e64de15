"""`bench-judge`: its command line, read before the judge is imported, which needs numpy."""

import sys
from collections.abc import Sequence

from buildbot_bench.cli.console import entry_point
from buildbot_bench.cli.option_table import JUDGE
from buildbot_bench.cli.options import CommandLine

COMMAND = CommandLine(
    name="bench-judge",
    usage="bench-judge [FILE | DIRECTORY]... [options]",
    description="""\
Tell which changes a series holds that somebody else measured: how large each is,
how sure, and which revision was the first. It judges as a farm does, and needs none.""",
    epilog="""\
It reads CSV, JSON lines, InfluxDB's line protocol, google-benchmark's JSON,
github-action-benchmark's data.js, what Bencher exports, and the directories of asv
and pytest-benchmark. Without a file it reads standard input.

examples:
  bench-judge times.csv
  bench-judge .benchmarks --metric decode --html changes.html
  bench-judge gh-pages/dev/bench/data.js --last 200 --fail-on regression
  git log --reverse --format=%h | ./measure-each | bench-judge --lower-is-better

exit status:
    0  it reports changes; with --fail-on: there is nothing to fail on
    1  there is no change; with --fail-on: there is one to fail on
    2  the request is wrong, or a file cannot be read
    3  it reports no change, and the newest revisions may hold one
    4  the page cannot be written
  130  interrupted

The answer goes to standard output, everything else to standard error.""",
    operands="paths",
    called="FILE",
    operands_help="a file, a directory, or - for standard input",
    sections=JUDGE,
)


def _main(argv: Sequence[str]) -> int:
    options = COMMAND.parser().parse_args(argv)
    from buildbot_bench.cli import judge_run  # noqa: PLC0415 - not for --help

    return judge_run.run(options)


main = entry_point("bench-judge", _main)

if __name__ == "__main__":
    sys.exit(main())
