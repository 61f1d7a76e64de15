"""`bench-lab`: parse the command line, run the command, print and set the exit status."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision, UsageError
from buildbot_bench.core.figures import quantity
from buildbot_bench.core.legible import long_line, writable
from buildbot_bench.core.profile.formats import (
    format_folded,
    format_gprof,
    format_pmc_graph,
    parse_folded,
)
from buildbot_bench.core.profile.functions import top_symbols
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import (
    Event,
    Failed,
    FailureKind,
    Finished,
    Measured,
    Phase,
    Profiled,
    Started,
    format_event,
    pieces,
)
from buildbot_bench.installed import ShowVersion
from buildbot_bench.lab.against_itself import add_itself, check_itself
from buildbot_bench.lab.background import (
    add_arguments,
    add_iterations,
    home_of,
    new_job_name,
    request_of,
    run_job,
)
from buildbot_bench.lab.box.cli import add_box
from buildbot_bench.lab.driver import failed
from buildbot_bench.lab.files import is_locked, owner_of, replace_text, try_lock
from buildbot_bench.lab.importing import import_config
from buildbot_bench.lab.job import Job, follow_to_the_end, prune
from buildbot_bench.lab.tables import choose, load_testbeds, make_driver

_FINISHED, _USAGE, _UNTESTABLE, _INFRASTRUCTURE = 0, 2, 3, 4  # exit statuses
_GOES_ON = "the job goes on; run the same again to attach"

_EPILOGUE = """\
exit status of run:
  0  all iterations are there           3  the revision is untestable
  2  usage                              4  infrastructure: try again

A job goes on when this command ends, however it ends. The same `run` again attaches to it and
prints all its events from the first; `cancel` ends it.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except UsageError as error:
        print(f"bench-lab: {error}", file=sys.stderr)
        return _USAGE
    except BenchError as error:
        print(f"bench-lab: {error}", file=sys.stderr)
        return _UNTESTABLE if isinstance(error, UntestableRevision) else _INFRASTRUCTURE
    except BrokenPipeError:
        # Nobody reads any more; the interpreter must not stumble over it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _INFRASTRUCTURE
    except OSError as error:
        print(f"bench-lab: {error}", file=sys.stderr)
        return _INFRASTRUCTURE
    except KeyboardInterrupt:
        print(f"bench-lab: {_GOES_ON}", file=sys.stderr)
        return _INFRASTRUCTURE
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench-lab",
        description="Measure kernels on the testbeds of this lab.",
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=ShowVersion)
    places = argparse.ArgumentParser(add_help=False)
    places.add_argument(
        "--testbeds",
        type=Path,
        metavar="FILE",
        default=Path(os.environ.get("BENCH_LAB_TESTBEDS", "testbeds.toml")),
        help="the list of testbeds (default: $BENCH_LAB_TESTBEDS or ./testbeds.toml)",
    )
    places.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get("BENCH_LAB_STATE", "state")),
        help="where jobs and locks are kept (default: $BENCH_LAB_STATE or ./state)",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands, places)
    listing = commands.add_parser("list", parents=[places], help="show the testbeds")
    listing.set_defaults(command=_list)
    check = commands.add_parser("check", parents=[places], help="say what a testbed lacks")
    check.add_argument("testbed", metavar="TESTBED")
    add_itself(check)
    check.set_defaults(command=_check)
    cancel = commands.add_parser("cancel", parents=[places], help="end a job")
    cancel.add_argument("--job", required=True, metavar="ID")
    cancel.set_defaults(command=_cancel)
    importing = commands.add_parser(
        "import", help="turn a configuration of bench-lab.sh into a testbed, on stdout"
    )
    importing.add_argument("config", type=Path, metavar="CONFIG")
    importing.add_argument("--name", default="", help="the testbed's (default: the DUT's)")
    importing.add_argument(
        "--configs", type=Path, metavar="DIR", help="a tree of configuration sets: the workloads"
    )
    importing.set_defaults(command=_import)
    add_box(commands)
    return parser


def _add_run(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    places: argparse.ArgumentParser,
) -> None:
    run = commands.add_parser(
        "run",
        parents=[places],
        help="measure a kernel, or attach to the job that does",
        description="Measure a kernel; prints its events: JSON lines, or text on a terminal.",
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(run)
    add_iterations(run)
    run.set_defaults(command=_run, profile=False, output=None)
    profile = commands.add_parser(
        "profile",
        parents=[places],
        help="sample where a kernel's cycles go, or attach to the job that does",
        description="Sample a kernel under traffic, which is no measurement.",
    )
    add_arguments(profile)
    profile.add_argument("--output", type=Path, metavar="FILE", help="where the capture is written")
    profile.add_argument(
        "--format",
        choices=sorted(CAPTURE_FORMATS),
        default="folded",
        help="of that file: folded stacks, gprof's call graph, or pmcstat's (default: folded)",
    )
    profile.set_defaults(command=_run, profile=True, iterations=1)


def _run(options: argparse.Namespace) -> int:
    testbed = choose(load_testbeds(options.testbeds), options.testbed)
    state: Path = options.state.absolute()
    if options.job is None:
        options.job = new_job_name()
        print(f"bench-lab: this is --job {options.job}", file=sys.stderr)
    job = Job(state, options.job)
    request = request_of(options, testbed, state)
    if options.digest is None:
        print(f"bench-lab: the artefact's SHA-256 is {request.digest}", file=sys.stderr)
    prune(state)
    work = partial(run_job, job, request, testbed, state)
    plain = sys.stdout.isatty() and not options.json
    last: Event | None = None
    try:
        for last in follow_to_the_end(job, request, options.artefact, work):
            _say(last, plain=plain)
            if isinstance(last, Profiled) and options.output is not None:
                replace_text(options.output, capture_text(last, options.format))
    except BrokenPipeError:
        raise
    except (InfraError, OSError) as error:
        if _lives(job):
            # Not the job has failed, only who followed it: that is said to people, not as an event.
            raise InfraError(f"cannot follow job {job.name}: {error}", hint=_GOES_ON) from error
        last = failed(error if isinstance(error, InfraError) else InfraError(str(error)))
        _say(last, plain=plain)
    match last:
        case Failed(kind=FailureKind.UNTESTABLE):
            return _UNTESTABLE
        case Failed():
            return _INFRASTRUCTURE
    return _FINISHED


def _lives(job: Job) -> bool:
    try:
        return job.is_running()
    except OSError:
        return False


def _list(options: argparse.Namespace) -> int:
    for testbed in load_testbeds(options.testbeds).values():
        home = home_of(options.state, testbed.name)
        owner = owner_of(home) if is_locked(home / "lock") else None
        held = "free" if owner is None else f"job {owner.job}, {time.time() - owner.since_s:.0f} s"
        try:
            workloads = ", ".join(make_driver(testbed, home).workloads())
        except BenchError as error:  # the others can be shown all the same
            workloads = f"{error.message}; see `bench-lab check {testbed.name}`"
        print(f"{testbed.name}\t{testbed.common.driver}\t{held}\t{workloads}")
    return _FINISHED


def _check(options: argparse.Namespace) -> int:
    testbed = choose(load_testbeds(options.testbeds), options.testbed)
    home = home_of(options.state.absolute(), testbed.name)
    lock = try_lock(home / "lock")
    if lock is None:
        owner = owner_of(home)
        who = "another job" if owner is None else f"job {owner.job}"
        raise InfraError(f"{who} has {testbed.name} now", hint="check again when it is free")
    try:
        driver = make_driver(testbed, home)
        findings = driver.check()
        for finding in findings:
            is_fine, detail = "ok     " if finding.fine else "MISSING", long_line(finding.detail)
            print(f"{is_fine} {finding.subject}: {detail}")
            if finding.remedy is not None:
                print(f"        → {finding.remedy}")
        if options.aa:
            print(f"\n{check_itself(options, testbed, driver, options.state.absolute())}", end="")
    finally:
        os.close(lock)
    return _FINISHED if all(finding.fine for finding in findings) else _INFRASTRUCTURE


def _cancel(options: argparse.Namespace) -> int:
    ended = Job(options.state.absolute(), options.job).cancel()
    print(f"job {options.job}: {'cancelled' if ended else 'was over already'}")
    return _FINISHED


def _import(options: argparse.Namespace) -> int:
    imported = import_config(options.config, name=options.name, configs=options.configs)
    for remark in imported.remarks:
        print(f"bench-lab: {remark}", file=sys.stderr)
    print(imported.text, end="")
    return _FINISHED


def _say(event: Event, *, plain: bool) -> None:
    if plain:
        print(writable(told(event), sys.stdout.encoding), flush=True)
        return
    for line in pieces(format_event(event)):
        print(line, flush=True)


CAPTURE_FORMATS: Mapping[str, Callable[[Profile], str]] = {
    "folded": format_folded,
    "gprof": format_gprof,
    "pmc.graph": format_pmc_graph,
}


def capture_text(taken: Profiled, form: str) -> str:
    """The text of a capture in one of CAPTURE_FORMATS; UsageError when it holds no stacks."""
    profile = parse_folded(taken.folded.splitlines(), source="the capture")
    return CAPTURE_FORMATS[form](replace(profile, event=taken.counter))


_MOST_SYMBOLS = 5  # functions in a line


def told(event: Event) -> str:
    """One event in one or a few lines of plain text."""
    match event:
        case Started():
            lines = [f"job {event.job}: {event.workload} on {event.testbed}, {event.digest[:12]}"]
            lines += [f"  {name}: {long_line(value)}" for name, value in event.facts.items()]
            return "\n".join(lines)
        case Phase():
            return f"{_clock(event.at_s)} {long_line(event.text)}"
        case Measured():
            return f"{_clock(event.at_s)} #{event.ordinal}: {_of_iteration(event)}"
        case Profiled():
            capture = parse_folded(event.folded.splitlines(), source="the capture")
            shares = ", ".join(
                f"{long_line(name)} {share:.1%}"
                for name, share in top_symbols(capture, limit=_MOST_SYMBOLS)
            )
            head = f"{_clock(event.at_s)} {capture.samples:,} samples of {long_line(event.counter)}"
            return f"{head}, {capture.idle_share:.0%} idle; busy with {shares}"
        case Failed():
            return f"{event.kind}: {long_line(event.reason)}"
        case Finished():
            return f"finished: {event.iterations} iterations"


def _of_iteration(event: Measured) -> str:
    if event.failure is not None:
        return f"refused: {long_line(event.failure)}"
    values = ", ".join(f"{quantity(value)} {unit}" for unit, value in event.values.items())
    return f"{values} ({event.duration_s:.0f} s)"


def _clock(at_s: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_s))


if __name__ == "__main__":
    sys.exit(main())
