"""What a command of the lab printed becomes the reason of its end: one harmless, bounded line."""

import sys
from types import SimpleNamespace

import pytest

from buildbot_bench.core.legible import MESSAGE_COLUMNS
from buildbot_bench.plugin.steps.record import LastOutput
from tests.running import ran

TRACEBACK = """\
Traceback (most recent call last):
  File "cli.py", line 1, in <module>
    main()
KeyError: 'first'
"""
NOT_RUN = """\
Upon execvpe b'bench-lab' [b'bench-lab', b'run'] in environment id 140
:Traceback (most recent call last):
  File "process.py", line 444, in _fork
FileNotFoundError: [Errno 2] No such file or directory
"""
NO_FILE = "FileNotFoundError: [Errno 2] No such file or directory"


def reason(errors: str = "", headers: str = "", failed: str | None = None) -> str:
    words = LastOutput()
    for line in errors.splitlines():
        words.error(line)
    for line in headers.splitlines():
        words.header(line)
    return words.reason(SimpleNamespace(remote_failure_reason=failed))


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ("", ""),
        ("bench-lab: there is no testbed 'x'\n", "bench-lab: there is no testbed 'x'"),
        ("bench-lab: this is --job a\nbench-lab: no lock\n\n", "bench-lab: no lock"),
        ("sh: warning: setlocale\nbench-lab: no lock\n", "bench-lab: no lock"),
        ("bench-lab: two\nlines\n", "bench-lab: two lines"),
        (
            "usage: bench-lab run [-h]\nbench-lab run: error: -n: bad\n",
            "bench-lab run: error: -n: bad",
        ),
        ("cannot allocate memory\n", "cannot allocate memory"),
        (TRACEBACK, "bench-lab broke: KeyError: 'first'"),
        ("bench-lab: this is --job a\n" + TRACEBACK, "bench-lab broke: KeyError: 'first'"),
        (
            NOT_RUN,
            f"the lab worker cannot run bench-lab: {NO_FILE}; is it on the worker's PATH?",
        ),
    ],
)
def test_the_last_thing_that_was_said_is_the_reason(errors, expected):
    assert reason(errors) == expected


def test_a_signal_is_the_reason_when_nothing_was_said():
    header = "process killed by signal 9\nelapsedTime=2.1\n"
    assert reason(headers=header) == "bench-lab was killed by signal 9"
    assert reason("bench-lab: no lock\n", header) == "bench-lab: no lock"


@pytest.mark.parametrize(
    ("failed", "expected"),
    [("timeout", "within timeout-minutes"), ("timeout_without_output", "printed nothing")],
)
def test_a_command_that_took_too_long_is_told_as_that(failed, expected):
    assert expected in reason("bench-lab: whatever\n", failed=failed)


def test_what_was_said_cannot_steer_who_reads_it_and_is_bounded():
    hostile = "bench-lab: \x1b[2J\u202eevil\r\nbench-lab: " + "x" * 100_000
    told = reason(hostile) + reason(hostile.partition("\n")[0])
    assert told.isprintable() or "\ufffd" in told
    assert not set(told) & {"\x1b", "\u202e", "\r", "\n"}
    assert len(told) <= 2 * MESSAGE_COLUMNS


def test_what_bench_lab_really_says_of_a_missing_list_is_the_reason(tmp_path):
    command = [sys.executable, "-m", "buildbot_bench.lab.cli", "run", "--testbed=a"]
    command += ["--artefact=k", "--workload=forwarding", "--iterations=1", "--job=j"]
    done = ran(command, cwd=tmp_path)
    assert done.returncode == 2
    told = reason(done.stderr)
    assert told.startswith("bench-lab: cannot read the list of testbeds: ")
    assert "name it by --testbeds FILE or BENCH_LAB_TESTBEDS" in told
