"""`bench-comment`: its command line, read before what asks sites, which needs httpx."""

import sys
from collections.abc import Sequence

from buildbot_bench.cli.console import entry_point
from buildbot_bench.cli.option_table import COMMENT
from buildbot_bench.cli.options import CommandLine

COMMAND = CommandLine(
    name="bench-comment",
    usage="bench-comment FILE [options]",
    description="""\
Put a report, as `bench-compare --local --markdown` prints it, where the change is reviewed.
It is one comment: the same command replaces what it said before.""",
    epilog="""\
What a job's environment says is enough on GitHub Actions (pull_request, workflow_run)
and in GitLab's merge request pipelines. The token is in the environment, never in the
command line:

  GitHub        GITHUB_TOKEN; the right `pull-requests: write`
  GitLab        BENCH_TOKEN: a project's access token, scope api, role Reporter
  Gerrit        BENCH_USER and BENCH_TOKEN: an HTTP password; --url, or GERRIT_URL,
                GERRIT_CHANGE_NUMBER and GERRIT_PATCHSET_REVISION as Jenkins sets them
  Phabricator   BENCH_TOKEN: a Conduit token; --url and --change D123

examples:
  bench-comment report.md
  bench-comment report.md --name decode
  bench-comment report.md --on phabricator --url https://reviews.example.org --change D8526

exit status:
    0  the comment is there
    2  the request is wrong, or no change under review is known
    4  the site does not answer, or refuses""",
    operands="paths",
    called="FILE",
    operands_help="the report, Markdown; - for standard input",
    sections=COMMENT,
)


def _main(argv: Sequence[str]) -> int:
    options = COMMAND.parser().parse_args(argv)
    from buildbot_bench.cli import comment_run  # noqa: PLC0415 - not for --help

    return comment_run.run(options)


main = entry_point("bench-comment", _main)

if __name__ == "__main__":
    sys.exit(main())
