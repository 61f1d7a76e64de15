"""What is to blame for a failure decides what follows, and no attempt goes unrecorded."""

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.wire import Failed, FailureKind, Finished, Measured, Phase
from buildbot_bench.lab.driver import CONSOLE_LIMIT, Budget, Dut, Request, measure, tail
from buildbot_bench.lab.files import sha256
from tests.fakes.driver import KERNEL, FakeDriver

PANIC = ("boot", UntestableRevision("panic"))
NO_TRAFFIC = ("blast", UntestableRevision("passes no traffic"))
DEAD_SENDER = ("blast", InfraError("the sender died"))


@pytest.fixture
def run(tmp_path):
    kernel = tmp_path / "kernel"
    kernel.write_text(KERNEL)

    def run(boots, *, iterations=3, recorded=()):
        request = Request(
            job="j", testbed="t", workload="forwarding", digest="", iterations=iterations
        )
        events = []
        dut = Dut(FakeDriver(boots), kernel, sha256(kernel))
        last = measure(request, dut, recorded, events.append, Budget(pause_s=0.0))
        return [event for event in events if isinstance(event, Measured)], last, events

    return run


def test_all_iterations_are_measured_in_their_order(run):
    measured, last, events = run([1.0, 2.0, 3.0])
    assert [event.values for event in measured] == [{"pps": 1.0}, {"pps": 2.0}, {"pps": 3.0}]
    assert [event.ordinal for event in measured] == [0, 1, 2]
    assert last == Finished(iterations=3)
    assert next(e.text for e in events if isinstance(e, Phase)) == "iteration 1 of 3"


@pytest.mark.parametrize("fault", [PANIC, NO_TRAFFIC])
def test_a_kernel_that_fails_twice_in_a_row_is_untestable(run, fault):
    measured, last, _ = run([fault, fault])
    assert last == Failed(kind=FailureKind.UNTESTABLE, reason=str(fault[1]), log=measured[-1].log)
    assert [event.failure for event in measured] == [str(fault[1])] * 2
    assert measured[-1].log == "login:"


def test_a_kernel_that_fails_once_gets_its_second_chance(run):
    measured, last, _ = run([PANIC, 1.0, PANIC, 2.0, 3.0])
    assert last == Finished(iterations=3)
    assert [event.values.get("pps") for event in measured] == [None, 1.0, None, 2.0, 3.0]
    assert [event.ordinal for event in measured] == [0, 1, 2, 3, 4]


def test_a_fault_of_the_lab_is_tried_again_and_recorded(run):
    measured, last, _ = run([DEAD_SENDER, 1.0, DEAD_SENDER, 2.0, 3.0])
    assert last == Finished(iterations=3)
    assert sum(event.failure is not None for event in measured) == 2


def test_a_lab_that_keeps_failing_is_at_fault_and_says_nothing_of_the_kernel(run):
    measured, last, _ = run([DEAD_SENDER, 1.0, DEAD_SENDER, 2.0, DEAD_SENDER, 3.0])
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert len(measured) == 5


def test_a_job_goes_on_after_the_iterations_that_are_recorded(run):
    recorded, _, _ = run([1.0, PANIC, 2.0], iterations=2)
    measured, last, _ = run([3.0, 4.0], iterations=4, recorded=recorded)
    assert [event.ordinal for event in recorded + measured] == [0, 1, 2, 3, 4]
    assert last == Finished(iterations=4)


def test_nothing_is_measured_when_all_is_recorded(run):
    recorded, _, _ = run([1.0], iterations=2)
    assert run([PANIC], iterations=2, recorded=recorded) == ([], Finished(iterations=2), [])


def test_a_log_keeps_its_end():
    assert tail("a" * CONSOLE_LIMIT + "the end") == "a" * (CONSOLE_LIMIT - 7) + "the end"
