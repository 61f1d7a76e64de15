"""The options of searches and comparisons without a farm, and their values."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from buildbot_bench.cli.options import add_version, duration_s, fraction
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import GIB, MIB

_DEFAULT_CACHE = 8 * GIB
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([MG])")
_SIZES = {"M": MIB, "G": GIB}


def add_local_options(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """What both commands take; returns the group of the answer's forms."""
    add_version(parser)
    parser.add_argument("--local", action="store_true", help=argparse.SUPPRESS)
    group = parser.add_argument_group("what is built and measured")
    group.add_argument(
        "--build", default="", metavar="COMMAND", help="what builds a revision, a line for sh"
    )
    group.add_argument("--run", metavar="COMMAND", help="what is measured, a line for sh")
    group.add_argument(
        "--value",
        metavar="V",
        help="cpu, wall, instructions, last-number, json:KEY, regex:... (default: cpu, the "
        "processor time)",
    )
    group.add_argument("--unit", metavar="U", help="of the value, as MB/s")
    better = group.add_mutually_exclusive_group()
    better.add_argument("--lower-is-better", action="store_true", help="of the value")
    better.add_argument("--higher-is-better", action="store_true", help="of the value")
    group.add_argument("--exact", action="store_true", help="the value is counted, and repeats")
    group.add_argument(
        "--artefact",
        action="append",
        default=[],
        metavar="PATH",
        help="what the run needs of what is built, a pattern (default: all); may be repeated",
    )
    group.add_argument("--with", dest="fix", metavar="REV", help="a commit to apply where it fits")
    group.add_argument(
        "--keep-builds",
        action="store_true",
        help="another --build or --with is for the revisions that failed: what the last command\n"
        "built and ran of the others stays valid",
    )
    group.add_argument("--warm-up", type=int, metavar="N", help="runs not counted")
    group.add_argument("--cpus", type=_cpus, metavar="N,M", help="pin the run to them")
    group.add_argument("--timeout", type=duration_s, help="of a run (default 10m)")
    group.add_argument(
        "--disk", metavar="SIZE", type=_size, help="what a run may write, as 500M (default 4G)"
    )
    group.add_argument("--build-timeout", type=duration_s, help="(default 1h)")
    group.add_argument(
        "--min-effect",
        metavar="E",
        type=fraction,
        help="smallest change that matters, as 2%% or 0.02 (default 2%%, or bench.yml's)",
    )
    group = parser.add_argument_group("instead of --build and --run")
    group.add_argument(
        "--workflow",
        metavar="FILE",
        type=Path,
        help="the bench.yml that says it (default: the one in the repository's top)",
    )
    group.add_argument("--workload", metavar="W", help="one of several that it measures")
    group.add_argument("--testbed", metavar="T", help="one of several that measure it")
    group.add_argument(
        "--testbeds", metavar="FILE", type=Path, help="testbeds.toml (default: beside bench.yml)"
    )
    group = parser.add_argument_group("this machine")
    group.add_argument("--repository", metavar="DIR", type=Path, default=Path(), help="(default .)")
    group.add_argument(
        "--jobs",
        metavar="N",
        type=positive,
        default=0,
        help="build N ahead while one measures, on a machine with processors to spare",
    )
    group.add_argument(
        "--cache",
        metavar="SIZE",
        type=_size,
        default=_DEFAULT_CACHE,
        help="for builds that are kept, as 500M or 8G (default 8G)",
    )
    group = parser.add_argument_group("the answer")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="for a pull request")
    form.add_argument("--json", action="store_true", help="one JSON object")
    group.add_argument("--html", metavar="FILE", type=Path, help="also as one page with its plots")
    parser.add_argument(
        "--dry-run", action="store_true", help="tell what it would take; build and run nothing"
    )
    return form


def positive(text: str) -> int:
    """A number from 1 to 9999."""
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no number from 1 to 9999")
    return int(text)


def _cpus(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d{1,4}(,\d{1,4})*", text):
        raise argparse.ArgumentTypeError(f"{quoted(text)} names no processors; write 2 or 2,3")
    return tuple(map(int, text.split(",")))


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no size; write 500M or 8G")
    return int(float(match[1]) * _SIZES[match[2]])
