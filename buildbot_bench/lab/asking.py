"""The arguments of `bench-lab run` and `profile`, and the request that they make."""

import argparse
import re
import secrets
import time
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.background import home_of
from buildbot_bench.lab.driver import Profiling
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.runner import Request
from buildbot_bench.lab.testbeds import LabTestbed, make_driver

_DIGEST = re.compile(r"[0-9a-f]{64}")
# A name has a dot in it, which no variable that a program heeds has.
_TUNABLE = re.compile(r"[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_%-]+)+=[A-Za-z0-9_.,:/-]{1,100}", re.ASCII)
_SAMPLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_MOST_ITERATIONS = 1000  # chosen: days of boots; more is a slip of the pen


def add_arguments(run: argparse.ArgumentParser) -> None:
    """What `run` and `profile` take, beside the places that every command takes."""
    run.add_argument("--testbed", required=True, metavar="T")
    run.add_argument("--artefact", required=True, type=Path, metavar="FILE", help="the kernel")
    run.add_argument("--digest", metavar="SHA256", help="the artefact's (default: as it is now)")
    run.add_argument("--workload", required=True, metavar="W")
    run.add_argument(
        "--job",
        metavar="ID",
        help="the job's name: the same name attaches (default: a new one, which is printed)",
    )
    run.add_argument(
        "--sysctl",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a tunable that is set at each boot; may be given several times",
    )
    run.add_argument(
        "--sample",
        default="",
        metavar="NAME",
        help="what it is measured for, if several jobs are: recorded boots are dealt anew to each",
    )
    run.add_argument("--json", action="store_true", help="print events as JSON, also on a terminal")


def add_iterations(run: argparse.ArgumentParser) -> None:
    """What `run` alone takes."""
    run.add_argument(
        *("-n", "--iterations"),
        required=True,
        type=int,
        metavar="N",
        help="how often it is booted and measured",
    )


def new_job_name() -> str:
    """A name that sorts by time and that nobody else has."""
    return f"hand-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def request_of(options: argparse.Namespace, testbed: LabTestbed, state: Path) -> Request:
    """The request that the arguments make."""
    digest = options.digest or _digest_of(options.artefact)
    if not _DIGEST.fullmatch(digest):
        raise UsageError(
            f"--digest {quoted(digest)} is no SHA-256", hint="give 64 hexadecimal digits"
        )
    if not 1 <= options.iterations <= _MOST_ITERATIONS:
        raise UsageError(f"--iterations {options.iterations} is not in 1..{_MOST_ITERATIONS}")
    for setting in options.sysctl:
        if not _TUNABLE.fullmatch(setting):
            raise UsageError(
                f"--sysctl {quoted(setting, columns=120)} is no tunable", hint="write NAME=VALUE"
            )
    if options.sample and not _SAMPLE.fullmatch(options.sample):
        raise UsageError(
            f"--sample {quoted(options.sample)} is no name",
            hint="use letters, digits, '.', '_' and '-', at most 100 of them",
        )
    driver = make_driver(testbed, home_of(state, testbed.name))
    workloads = driver.workloads()
    if options.workload not in workloads:
        raise UsageError(
            f"testbed {testbed.name} has no workload {quoted(options.workload)}",
            hint=f"it has {', '.join(workloads) or 'none'}",
        )
    if options.profile and not (isinstance(driver, Profiling) and driver.counter()):
        raise UsageError(
            f"testbed {testbed.name} takes no captures",
            hint=f"write [testbeds.{testbed.name}.profile], if its driver is ssh",
        )
    return Request(
        job=options.job,
        testbed=testbed.name,
        workload=options.workload,
        digest=digest,
        iterations=options.iterations,
        tunables=tuple(options.sysctl),
        profile=options.profile,
        sample=options.sample,
    )


def _digest_of(artefact: Path) -> str:
    try:
        return sha256(artefact)
    except OSError as error:
        raise InfraError(f"cannot read the artefact: {error}") from error
