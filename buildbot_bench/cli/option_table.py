"""All options of bench-bisect and bench-compare, on a farm and with --local, and bench-judge's."""

from argparse import SUPPRESS
from pathlib import Path

from buildbot_bench.api.requests import DEFAULT_ITERATIONS
from buildbot_bench.cli.option_values import (
    DEFAULT_FARM,
    boots_wanted,
    change_id,
    duration_s,
    fraction,
    images_wanted,
    known_number,
    positive,
    prebuilt_pattern,
    processors,
    site_url,
    size,
)
from buildbot_bench.cli.options import Option, Sections
from buildbot_bench.core.limits import DEFAULT_IMAGES, GIB, MOST_IMAGES
from buildbot_bench.core.sharing import PersonPriority

DECISIONS = ("approve", "reject")
START, BEGIN, RUN, WORKFLOW = "start", "begin", "run", "workflow"
"""What options go with: a new search or comparison, that or an extension, --run, bench.yml."""

_SEARCH = known_number("search", "bench-bisect")
_COMPARISON = known_number("comparison", "bench-compare")
_ONE_COMMIT = "a merge counts as one commit: search inside none"

_FARM = {
    "the farm": (
        Option("--farm URL", f"$BENCH_FARM, else {DEFAULT_FARM}"),
        Option("--user U", "who asks (default: $BENCH_USER, or the login kept for the farm)"),
        Option("--password-file F", "its first line (default: $BENCH_PASSWORD_FILE)"),
        Option(
            "--patience TIME",
            "how long a followed farm may be away, as 90s, 15m, 2h (default: 15m)",
            duration_s,
            default=900.0,
        ),
        Option("--poll TIME", SUPPRESS, duration_s, default=1.0),
    )
}


def _repository(scope: str) -> Option:
    told = "whose revisions are meant (default: the farm's first); ports:main says it, too"
    return Option("--repository NAME", told, scope=scope)


_OF_EITHER = (
    Option(
        "--min-effect E",
        "smallest change that matters, as 2%% or 0.02 (default: the farm's)",
        fraction,
        scope=START,
    ),
    Option(
        "--priority",
        "its share of a testbed that others also use (normal); high needs the role bench",
        choices=[str(one) for one in PersonPriority],
        scope=START,
    ),
)

BISECT: Sections = {
    "on a farm: the search": (
        _repository(START),
        Option("--testbed T", "where to measure (default: the farm's)", scope=START),
        Option("--workload W", "what to measure (default: the farm's)", scope=START),
        *_OF_EITHER,
        Option(
            "--with REV",
            "a commit to apply to each revision that it fits and that lacks it",
            dest="fix",
            scope=START,
        ),
        Option(
            "--tunable NAME=VALUE",
            "set before the traffic of each boot",
            many=True,
            scope=START,
        ),
        Option("--value NAME", "of many values of a run, the one that is searched", scope=START),
        Option("--first-parent", _ONE_COMMIT, scope=START),
        Option("-n --dry-run", "print the forecast and start nothing", scope=START),
        Option("--no-wait", "print the search's number and do not wait for it", scope=START),
        Option("--json", "print the answer as one JSON object"),
    ),
    "on a farm: known searches": (
        Option("--follow ID", "come back to a search", _SEARCH, rivals="known"),
        Option("--cancel ID", "end it without an answer", _SEARCH, rivals="known"),
        Option(
            "--mark ID",
            "say of its report that the change was expected, is noise, was fixed by a revision, "
            "or is to be measured again; withdrawn takes that back",
            _SEARCH,
            rivals="known",
        ),
        Option("--list", "show the newest ones", rivals="known"),
        Option("--release TESTBED", "end a testbed's quarantine instead", rivals="known"),
        Option(
            "--false-alarm",
            "with --release: nothing was wrong, the measurements in quarantine count",
        ),
    ),
    **_FARM,
}


def _of_several(name: str) -> Option:
    told = f"a {name} to compare on; may be given several times (default: all of the farm's)"
    return Option(f"--{name} {name[0].upper()}", told, many=True, scope=START)


def _label(what: str, *, scope: str = "") -> Option:
    told = f"call a {what.lower()} so, everywhere; may be given for each"
    return Option(f"--label {what}=LABEL", told, many=True, scope=scope)


COMPARE: Sections = {
    "on a farm: the comparison": (
        _repository(BEGIN),
        _of_several("testbed"),
        _of_several("workload"),
        _label("VARIANT", scope=BEGIN),
        Option(
            "--factor F",
            "NAME=CHANGE, without and with it, or NAME=TUNABLE:VALUE,VALUE; two to four, beside "
            "BASE alone: all combinations are measured",
            many=True,
            scope=START,
        ),
        Option(
            "-n N",
            f"boots of each one's first image ({DEFAULT_ITERATIONS}), and the most of a further "
            "one, which gets two or more, as boots vary; +N beside --extend: so many more",
            boots_wanted,
            dest="iterations",
            scope=BEGIN,
        ),
        Option(
            "--images N",
            f"images of each at most ({DEFAULT_IMAGES}; up to {MOST_IMAGES}): two below 10 %%, "
            "more while the verdict needs them; with 1, luck with layout looks like a change",
            images_wanted,
            scope=BEGIN,
        ),
        *_OF_EITHER,
        Option("--no-wait", "print the comparison's number and do not wait for it", scope=BEGIN),
        Option("--follow ID", "come back to a comparison", _COMPARISON, rivals="known"),
        Option("--cancel ID", "end it without an answer", _COMPARISON, rivals="known"),
        Option(
            "--extend ID",
            "go on with more boots or variants, or where it was cancelled or failed",
            _COMPARISON,
            rivals="known",
        ),
        Option("--list", "show the newest ones", rivals="known"),
        *(
            Option(f"--{one} ID", f"{one} a stranger's patches", _COMPARISON, rivals="known")
            for one in DECISIONS
        ),
    ),
    "the answer": (
        Option("--json", "as one JSON object", rivals="form"),
        Option("--markdown", "as a comment for a review", rivals="form"),
        Option("--csv", "its values, one a line", rivals="form"),
        Option("--output DIR", "also write a result directory, as netbenches has them"),
    ),
    **_FARM,
}

_LOCAL: Sections = {
    "what is built and measured": (
        Option("--build COMMAND", "what builds a revision, a line for sh", default=""),
        Option("--run COMMAND", "what is measured, a line for sh"),
        Option(
            "--value V",
            "cpu, wall, instructions, last-number, json:KEY, regex:..., TOOL:NAME, all (default: "
            "cpu, the processor time)",
            scope=RUN,
        ),
        Option("--unit U", "of the value, as MB/s", scope=RUN),
        Option("--lower-is-better", "of the value", rivals="better", scope=RUN),
        Option("--higher-is-better", "of the value", rivals="better", scope=RUN),
        Option("--exact", "the value is counted, and repeats", scope=RUN),
        Option(
            "--artefact PATH",
            "what the run needs of what is built, a pattern (default: all); may be repeated",
            many=True,
            scope=RUN,
        ),
        Option("--with REV", "a commit to apply where it fits", dest="fix"),
        Option(
            "--keep-builds",
            "another --build or --with is for the revisions that failed: what the last command\n"
            "built and ran of the others stays valid",
            once=True,
        ),
        Option("--warm-up N", "runs not counted", int, scope=RUN),
        Option("--cpus N,M", "pin the run to them", processors, scope=RUN),
        Option("--timeout TIMEOUT", "of a run (default 10m)", duration_s, scope=RUN),
        Option("--disk SIZE", "what a run may write, as 500M (default 4G)", size, scope=RUN),
        Option(
            "--budget TIME",
            "end after it, as 90s, 10m or 2h, with what is known; what has begun is ended first",
            duration_s,
            once=True,
        ),
        Option("--build-timeout BUILD_TIMEOUT", "(default 1h)", duration_s),
        Option(
            "--min-effect E",
            "smallest change that matters, as 2%% or 0.02 (default 2%%, or bench.yml's)",
            fraction,
        ),
    ),
    "instead of --build and --run": (
        Option(
            "--workflow FILE",
            "the bench.yml that says it (default: the one in the repository's top)",
            Path,
            scope=WORKFLOW,
        ),
        Option("--workload W", "one of several that it measures", scope=WORKFLOW),
        Option("--testbed T", "one of several that measure it", scope=WORKFLOW),
        Option(
            "--testbeds FILE", "testbeds.toml (default: beside bench.yml)", Path, scope=WORKFLOW
        ),
    ),
    "this machine": (
        Option("--repository DIR", "(default .)", Path, default=Path()),
        Option(
            "--jobs N",
            "build N ahead while one measures, on a machine with processors to spare",
            positive,
            default=0,
        ),
        Option(
            "--cache SIZE",
            "for builds that are kept, as 500M or 8G (default 8G)",
            size,
            default=8 * GIB,
        ),
    ),
}
_HERE = (
    Option("--local", SUPPRESS, once=True),
    Option("--dry-run", "tell what it would take; build and run nothing", once=True),
)
_MARKDOWN = Option("--markdown", "for a pull request", rivals="form", once=True)
_JSON = Option("--json", "one JSON object", rivals="form", once=True)
_CSV = Option("--csv", "its values, one a line", rivals="form", once=True)
_HTML = Option("--html FILE", "also as one page with its plots", Path, once=True)

LOCAL_BISECT: Sections = {
    **_LOCAL,
    "the answer": (_MARKDOWN, _JSON, _HTML),
    "": _HERE,
    "the search": (
        Option(
            "--prebuilt PATTERN",
            "where others keep what they built, a URL or path with {hash} or {short} in it: those\n"
            "run first, and --build is for revisions near a change",
            prebuilt_pattern,
            scope=RUN,
        ),
        Option("--skip REV", "do not measure it, or those of A..B; may be repeated", many=True),
        Option(
            "--again REV",
            "forget that it, or one of A..B, did not build or run; may be repeated",
            many=True,
            once=True,
        ),
        Option("--first-parent", _ONE_COMMIT),
    ),
}
LOCAL_COMPARE: Sections = {
    **_LOCAL,
    "the answer": (
        *(_MARKDOWN, _JSON, _HTML, _CSV),
        Option(
            "--fail-on",
            "a gate: with regression the status is 1 where one is worse than the base",
            choices=("regression", "never"),
        ),
    ),
    "": _HERE,
    "the comparison": (
        Option(
            "--aa",
            "compare one revision with itself: what this machine can tell, at what cost, and what\n"
            "makes its runs vary; at most 4 images of -n runs",
        ),
        _label("REVISION"),
        Option("-n --iterations N", "runs of each (default 5)", positive, default=5),
        Option(
            "--images N",
            f"builds of each at most, where the build heeds BENCH_IMAGE (default {DEFAULT_IMAGES})",
            positive,
            default=DEFAULT_IMAGES,
        ),
    ),
}

JUDGE: Sections = {
    "what is judged": (
        Option(
            "--metric NAME",
            "series whose name holds it, or fits it as a pattern (default: all); may be repeated",
            many=True,
        ),
        Option("--last N", "the newest N revisions alone", positive),
        Option(
            "--lower-is-better", "of all values (default: as unit or name say)", rivals="better"
        ),
        Option("--higher-is-better", "of all values", rivals="better"),
        Option(
            "--min-effect E",
            "smallest change that matters, as 2%% or 0.02 (default 2%%)",
            fraction,
            default=0.02,
        ),
    ),
    "the answer": (
        Option("--json", "one JSON object; with --follow one a line"),
        Option("--html FILE", "also as one page with a plot of each series", Path),
        Option(
            "--fail-on",
            "a gate: the status is 1 where there is one, else 0; never is always 0",
            choices=("regression", "change", "never"),
        ),
        Option("--follow", "judge again whenever a file grows; ends with what --fail-on names"),
        Option("--poll TIME", SUPPRESS, duration_s, default=2.0),
    ),
}

COMMENT: Sections = {
    "": (
        Option("--name NAME", "tells several comments apart (default: bench)", default="bench"),
        Option(
            "--on",
            "github, gitlab, gerrit or phabricator (default: as the job's environment says)",
            choices=("github", "gitlab", "gerrit", "phabricator"),
        ),
        Option("--url URL", "of the site, or of its API", site_url),
        Option(
            "--change ID", "the pull request's, merge request's, change's or revision's", change_id
        ),
    ),
}
