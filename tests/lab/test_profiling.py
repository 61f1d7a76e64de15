"""A capture has boots of its own, is repeated when it shows too little, and is no measurement."""

from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.wire import Failed, FailureKind, Finished, Phase, Profiled
from buildbot_bench.lab.background import profile
from buildbot_bench.lab.cli import capture_text, main, told
from buildbot_bench.lab.driver import Budget, Dut, Request
from buildbot_bench.lab.files import sha256
from tests.core.profiles import folded
from tests.fakes.driver import KERNEL, FakeDriver

BUSY = folded("main;forward 60", "cpu_idle 39", "main;forward 1")
IDLE = folded("main;forward 10", "cpu_idle 90")
THRICE = Budget(lab_faults=3, pause_s=0.0)
NO_LINK = ("capture", InfraError("no link"))


def run(tmp_path, driver, *recorded):
    kernel = tmp_path / "kernel"
    kernel.write_text(KERNEL)
    digest = sha256(kernel)
    request = Request(job="j", testbed="t", workload="w", digest=digest, iterations=1, profile=True)
    events = []
    last = profile(request, Dut(driver, kernel, digest), recorded, events.append, THRICE)
    return [event for event in events if isinstance(event, Profiled)], last, events


def test_it_is_taken_of_a_booted_and_verified_kernel_and_equal_stacks_are_summed(tmp_path):
    driver = FakeDriver(captures=[BUSY])
    (taken,), last, _ = run(tmp_path, driver)
    assert last == Finished(iterations=0)
    assert taken.folded == "cpu_idle 39\nmain;forward 61\n"
    assert driver.verbs == ["install", "boot", "verify", "capture", "shutdown"]


def test_what_it_says_of_packets_and_places_goes_along_within_bounds(tmp_path):
    places = {"forward": "sys/a.c:1", "absent": "sys/b.c:1", "cpu_idle": "x" * 999}
    driver = FakeDriver(captures=[replace(BUSY, packets=64, places=places)])
    (taken,), _, _ = run(tmp_path, driver)
    assert (taken.packets, taken.places) == (64, {"forward": "sys/a.c:1"})


def test_a_mostly_idle_one_is_refused_with_its_share_and_taken_again_on_another_boot(tmp_path):
    driver = FakeDriver(captures=[IDLE, BUSY])
    (_taken,), last, events = run(tmp_path, driver)
    assert last == Finished(iterations=0)
    assert driver.verbs.count("boot") == 2
    said = [event.text for event in events if isinstance(event, Phase)]
    assert said[1].startswith("no capture: the capture: 90.0% of 100 samples are idle")


def test_captures_that_stay_idle_end_within_the_budget(tmp_path):
    driver = FakeDriver(captures=[IDLE, IDLE, IDLE])
    taken, last, _ = run(tmp_path, driver)
    assert not taken
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "begin to sample when traffic is seen" in last.reason


def test_a_fault_of_the_lab_costs_one_attempt(tmp_path):
    driver = FakeDriver([NO_LINK, 1000.0], captures=[BUSY])
    taken, last, _ = run(tmp_path, driver)
    assert (len(taken), last) == (1, Finished(iterations=0))


def test_a_kernel_that_does_not_boot_has_none(tmp_path):
    driver = FakeDriver([("boot", UntestableRevision("it panics"))])
    taken, last, _ = run(tmp_path, driver)
    assert not taken
    assert isinstance(last, Failed)
    assert (last.kind, last.reason) == (FailureKind.UNTESTABLE, "it panics")


def test_one_that_is_recorded_already_is_not_taken_again(tmp_path):
    recorded = Profiled(at_s=1.0, duration_s=1.0, counter="c", folded="main 1\n")
    driver = FakeDriver()
    assert run(tmp_path, driver, recorded) == ([], Finished(iterations=0), [])
    assert driver.verbs == []


def test_a_person_reads_where_the_cycles_went():
    taken = Profiled(at_s=0.0, duration_s=1.0, counter="cycles", folded="a;b 3\ncpu_idle 1\n")
    assert told(taken).endswith(" 4 samples of cycles, 25% idle; busy with b 100.0%, a 0.0%")


TAKEN = Profiled(at_s=0.0, duration_s=1.0, counter="INST", folded="main;input 3\nmain;output 1\n")


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("folded", "main;input 3"),
        ("pmc.graph", "@ INST [4 samples]"),
        ("gprof", "Call graph, in samples of INST"),
    ],
)
def test_a_capture_is_written_in_the_format_that_is_asked_for(form, line):
    assert capture_text(TAKEN, form).splitlines()[0] == line
    assert "input" in capture_text(TAKEN, form)


def test_the_command_knows_these_formats_alone(capsys):
    with pytest.raises(SystemExit):
        main(["profile", "--testbed", "x", "--format", "svg"])
    assert "invalid choice: 'svg'" in capsys.readouterr().err
