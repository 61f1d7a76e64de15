"""A whole farm whose DUT is a virtual machine: slow kernels among those that panic or hang."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from buildbot_bench.demo.cli import HANGS, PANICS, SLIGHTLY_SLOWER, SLOWER
from tests.e2e.replay_farm import end_processes_in
from tests.fakes.vm_kernels import need_machine
from tests.ports import free_port
from tests.readme import of
from tests.running import ran

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

START_S = 120.0
CAPTURES_S = 120.0

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def bisect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Asks a farm that `bench-farm run --lab vm` keeps, as a person at a shell does."""
    need_machine()
    directory = tmp_path_factory.mktemp("vm").resolve()
    environment = os.environ | {"XDG_CONFIG_HOME": str(directory / "config")}
    port = free_port()
    url = f"http://localhost:{port}/"
    options = ["--lab", "vm", "--dir", directory / "farm", f"--port={port}"]
    log = directory / "farm.log"
    with log.open("wb") as output:
        farm = subprocess.Popen(
            [_command("bench-farm"), "run", *options, f"--pb-port={free_port()}"],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def ask(*arguments: str) -> dict[str, Any]:
        done = ran([_command("bench-bisect"), *arguments, "--farm", url, "--json"], env=environment)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    try:
        _await(lambda: "stops it" in log.read_text(), farm, log)
        yield ask
    finally:
        farm.send_signal(signal.SIGTERM)
        farm.wait(120)
        end_processes_in(directory)


def test_half_a_percent_is_found_exactly(bisect: Ask) -> None:
    report = bisect(*asked_of("vm-exact"))
    small, large = report["steps"]
    assert (small["old"]["label"], small["new"]["label"]) == ("r320002", SLIGHTLY_SLOWER)
    assert small["effect"] == pytest.approx(0.005, abs=0.002)
    assert (large["old"]["label"], large["new"]["label"]) == ("r320007", SLOWER)
    assert "a count, not a time" in " ".join(small["contrast"]["notes"])
    assert skipped(report) & {PANICS, HANGS}


def test_the_functions_that_execute_more_are_named(bisect: Ask) -> None:
    deadline = time.monotonic() + CAPTURES_S
    while not (why := bisect("--follow", "1")["why"]) or why["missing"]:
        assert time.monotonic() < deadline, why
        time.sleep(1)
    assert [symbol["name"] for symbol in why["symbols"]] == ["memset", "mbuf_get"]
    (place,) = why["places"]
    assert (place["path"], place["changed"]) == ("src/mbuf.c", ["mbuf_get"])
    assert {line["function"] for line in place["lines"]} == {"mbuf_get"}
    table = why["per_packet"]
    assert {one["name"] for one in table["functions"]} == {"memset", "mbuf_get"}
    more = sum(one["new"] - one["old"] for one in (*table["functions"], table["others"]))
    assert more == pytest.approx(table["total"]["new"] - table["total"]["old"])
    assert table["note"] == ""


def test_a_fifth_of_the_speed_is_found_by_pps(bisect: Ask) -> None:
    report = bisect(*asked_of("vm"))
    (step,) = report["steps"]
    assert (step["old"]["label"], step["new"]["label"]) == ("r320007", SLOWER)
    assert -0.4 < step["effect"] < -0.1
    assert skipped(report) & {PANICS, HANGS}


def asked_of(testbed: str) -> list[str]:
    """What the README has a reader ask of a testbed."""
    (command,) = [line.split()[1:] for line in of("bench-bisect") if line.split()[-1] == testbed]
    return command


def skipped(report: dict[str, Any]) -> set[str]:
    """The first revision of each row of those that were stepped around."""
    return {row["first"]["label"] for row in report["skipped"]}


def _command(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def _await(condition: Callable[[], bool], farm: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not condition():
        assert farm.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
