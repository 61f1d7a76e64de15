"""What a master has calculated, by real processes: answers, hangs, deaths, and its own end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HANGS_S = 40.0
# Without limits a calculation in a thread hung before it ended, in 4 of 4 tries.
FREEZE_S = 8
LIBRARIES = 2  # numpy and scipy have one each


def master(*asked: str, threads: int = 8) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.calculating_master", *asked],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whatever the tests' environment has: this is what a user's may have.
        env=os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(threads)),
    )


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    process = master("life", str(tmp_path_factory.mktemp("life")))
    said, complained = process.communicate(timeout=120)
    assert process.returncode == 0, complained
    begun, told = said.splitlines()
    assert begun == "begun"  # once: a process that calculates does not run the master's program
    return json.loads(told)


def test_it_is_another_process_with_one_thread_of_each_library_and_nothing_of_the_masters(life):
    assert life["pid"] != life["own"]
    assert life["threads"] == life["own_threads"] == [1] * LIBRARIES
    assert life["sockets"] == []
    assert life["loaded"] == []


def test_there_are_at_most_two_and_signals_that_are_the_masters_end_none(life):
    assert (life["same"], life["processes"]) == (True, 2)


def test_what_somebody_waits_for_goes_before_what_was_asked_ahead(life):
    assert life["order"] == ["page", "plan"]


def test_one_that_hangs_is_replaced_and_whoever_asked_is_told(life):
    assert life["hung"] == ["CalculationError", "hang: took more than 2 s"]


def test_one_that_dies_is_tried_once_more(life):
    assert life["revived"] == "answered"
    name, why = life["dead"]
    assert name == "CalculationError"
    assert "signal 9" in why


def test_what_a_function_raises_is_raised_where_it_was_asked_for(life):
    assert life["refused"] == ["UsageError", "there is no r9; take another"]
    name, why = life["odd"]
    assert name == "RuntimeError"
    assert why.startswith("tests.calculated.OddError: 1 and 2")
    assert life["unpicklable"][0] in {"PicklingError", "AttributeError"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_its_master(tmp_path, number):
    process = master("wait", str(tmp_path))
    begun = tmp_path / "hung"
    until(lambda: begun.exists() and begun.read_text(), process)
    calculator = int(begun.read_text())
    process.send_signal(number)
    process.communicate(timeout=HANGS_S)
    until(lambda: not is_there(calculator), process)


def is_there(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def until(condition, process) -> None:
    deadline = time.monotonic() + HANGS_S
    while not condition():
        assert time.monotonic() < deadline, process.poll()
        time.sleep(0.05)


def test_a_master_that_calculates_while_git_is_forked_never_stands_still():
    processes = [
        master("freeze", str(FREEZE_S), threads=2),
        master("freeze-late", str(FREEZE_S), threads=8),
    ]
    said = [process.stdout.readline() for process in processes]
    assert said == ["begun\n"] * 2
    one = [1] * LIBRARIES
    for process in processes:
        pools = json.loads(process.stdout.readline())
        assert pools == {"master": one, "calculator": one}
    assert [watched(process) for process in processes] == ["ended with 0"] * 2


def watched(process: subprocess.Popen[str]) -> str:
    """How the process ended, or that it said nothing for long, and is killed."""
    killer = None
    last = ""
    while True:
        killer = threading.Timer(HANGS_S, process.kill)
        killer.start()
        line = process.stdout.readline()
        killer.cancel()
        if not line:
            process.communicate()
            status = process.returncode
            return f"ended with {status}" + (f", and said last: {last}" if status else "")
        last = line.strip()
