"""A job outlives whoever asked for it, is never done twice, and is taken up where it was left."""

import json
import os
import signal
import subprocess
from contextlib import suppress

import pytest

from buildbot_bench.core.wire import Failed, FailureKind, Finished, Phase, Started
from buildbot_bench.lab.job import Job
from tests.fakes.lab import PATIENCE_S, Lab, events_of, is_alive, wait_for

SLOW_S = 0.15


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path, delay_s=SLOW_S)


def ordinals(lab, job):
    return [event.ordinal for event in lab.measured(job)]


def is_over(lab, job):
    return bool(lab.events(job)) and isinstance(lab.events(job)[-1], Finished | Failed)


def test_a_job_prints_all_its_events_and_ends_with_0(lab):
    result = lab.do(lab.run_command("a"))
    events = events_of(result.stdout)
    assert result.returncode == 0
    assert isinstance(events[0], Started)
    assert events[0].epoch == "e1"
    assert events[-1] == Finished(iterations=3)
    assert [e.values["pps"] for e in lab.measured("a")] == [1000, 1010, 990]
    assert events == lab.events("a")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_death_of_the_foreground_does_not_hurt_the_runner(lab, number):
    foreground = lab.start(lab.run_command("a", iterations=12))
    wait_for(lambda: lab.measured("a"))
    runner = lab.runner_pid("a")
    foreground.send_signal(number)
    assert foreground.wait(120) != 0
    wait_for(lambda: is_over(lab, "a"))
    assert ordinals(lab, "a") == list(range(12))
    assert lab.runner_pid("a") == runner


def test_killing_the_whole_process_group_of_the_foreground_does_not_hurt_the_runner(lab):
    foreground = subprocess.Popen(
        lab.run_command("a", iterations=12), stdout=subprocess.DEVNULL, start_new_session=True
    )
    wait_for(lambda: lab.measured("a"))
    os.killpg(foreground.pid, signal.SIGKILL)
    foreground.wait()
    wait_for(lambda: is_over(lab, "a"))
    assert ordinals(lab, "a") == list(range(12))


def test_the_runner_has_a_session_of_its_own_and_holds_no_pipe_of_the_caller(lab):
    foreground = lab.start(lab.run_command("a", iterations=1000))
    wait_for(lambda: lab.measured("a"))
    runner = lab.runner_pid("a")
    assert os.getpgid(runner) == runner
    assert os.getsid(runner) not in {os.getsid(0), os.getsid(foreground.pid)}
    foreground.kill()
    foreground.communicate(timeout=60)  # would block if the runner had inherited the pipes
    assert is_alive(runner)
    lab.do(lab.command("cancel", "--job=a"))


def test_a_caller_that_cannot_attach_does_not_say_that_the_job_has_failed(lab):
    foreground = lab.start(lab.run_command("a", iterations=1000))
    wait_for(lambda: lab.measured("a"))
    lock = lab.state / "jobs" / "a" / "start.lock"
    lock.unlink()
    lock.mkdir()
    result = lab.do(lab.run_command("a", iterations=1000))
    assert (result.returncode, result.stdout) == (4, "")
    assert "Is a directory" in result.stderr
    assert "the job goes on" in result.stderr
    lock.rmdir()
    assert Job(lab.state, "a").cancel()
    foreground.communicate()


def test_a_closed_stdout_does_not_hurt_the_runner(lab):
    foreground = lab.start(lab.run_command("a", iterations=12))
    foreground.stdout.readline()
    foreground.stdout.close()
    assert foreground.wait(120) == 4
    assert "Traceback" not in foreground.stderr.read()
    wait_for(lambda: is_over(lab, "a"))
    assert ordinals(lab, "a") == list(range(12))


def test_whoever_attaches_reads_all_events_from_the_first(lab):
    first = lab.start(lab.run_command("a", iterations=12))
    wait_for(lambda: lab.measured("a"))
    second = lab.start(lab.run_command("a", iterations=12))
    third = lab.do(lab.run_command("a", iterations=12))
    outputs = {first.communicate()[0], second.communicate()[0], third.stdout}
    assert len(outputs) == 1
    assert events_of(outputs.pop()) == lab.events("a")


def test_many_who_ask_at_once_start_one_runner(lab):
    command = lab.run_command("a", iterations=4)
    crowd = [lab.start(command) for _ in range(6)]
    outputs = {process.communicate()[0] for process in crowd}
    assert [process.returncode for process in crowd] == [0] * 6
    assert len(outputs) == 1
    wait_for(lambda: lab.is_quiet("a"))
    assert [e for e in lab.events("a") if isinstance(e, Started | Finished)] == [
        lab.events("a")[0],
        lab.events("a")[-1],
    ]
    assert ordinals(lab, "a") == [0, 1, 2, 3]


def test_a_finished_job_is_told_again_and_not_done_again(lab):
    first = lab.do(lab.run_command("a"))
    boots = (lab.state / "testbeds" / "first" / "boots.json").read_text()
    again = lab.do(lab.run_command("a"))
    assert (again.stdout, again.returncode) == (first.stdout, 0)
    assert (lab.state / "testbeds" / "first" / "boots.json").read_text() == boots


def test_a_killed_runner_is_replaced_and_no_finished_iteration_is_repeated(lab):
    foreground = lab.start(lab.run_command("a", iterations=12))
    for finished in (1, 3):
        wait_for(lambda n=finished: len(lab.measured("a")) >= n)
        before = lab.measured("a")
        os.kill(lab.runner_pid("a"), signal.SIGKILL)
        wait_for(lambda known=before: len(lab.measured("a")) > len(known))
        assert lab.measured("a")[: len(before)] == before
    stdout, _ = foreground.communicate(timeout=60)
    assert foreground.returncode == 0
    assert ordinals(lab, "a") == list(range(12))
    assert events_of(stdout) == lab.events("a")


def test_a_job_left_by_runner_and_foreground_is_taken_up_by_the_next_caller(lab):
    foreground = lab.start(lab.run_command("a", iterations=20))
    wait_for(lambda: len(lab.measured("a")) >= 2)
    foreground.kill()
    foreground.wait()
    os.kill(lab.runner_pid("a"), signal.SIGKILL)
    wait_for(lambda: not is_alive(lab.runner_pid("a")))
    left = lab.measured("a")
    lab.kernel.unlink()  # the job has a copy of its own
    command = lab.run_command("a", iterations=20, artefact=lab.artefact("r100\n"))
    lab.kernel.unlink()
    result = lab.do(command)
    assert result.returncode == 0
    assert ordinals(lab, "a") == list(range(20))
    assert lab.measured("a")[: len(left)] == left


def test_a_line_that_a_crash_left_half_written_is_cut_off(lab):
    foreground = lab.start(lab.run_command("a", iterations=20))
    wait_for(lambda: len(lab.measured("a")) >= 2)
    foreground.kill()
    foreground.wait()
    os.kill(lab.runner_pid("a"), signal.SIGKILL)
    wait_for(lambda: not is_alive(lab.runner_pid("a")))
    with (lab.state / "jobs" / "a" / "events.jsonl").open("a") as file:
        file.write('{"v": 1, "event": "measured", "ordi')
    assert lab.do(lab.run_command("a", iterations=20)).returncode == 0
    assert ordinals(lab, "a") == list(range(20))


def test_a_runner_that_always_dies_is_an_infrastructure_error(tmp_path):
    lab = Lab(tmp_path, delay_s=PATIENCE_S)
    foreground = lab.start(lab.run_command("a"))
    killed: set[int] = set()

    def kill_before_it_measures():
        with suppress(FileNotFoundError):  # until there is a runner, and between two
            pid = lab.runner_pid("a")
            if pid not in killed:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        return foreground.poll() is not None

    wait_for(kill_before_it_measures)
    stdout, _ = foreground.communicate()
    assert foreground.returncode == 4
    assert isinstance(events_of(stdout)[-1], Failed)


def test_cancelling_ends_the_runner_and_the_job(lab):
    foreground = lab.start(lab.run_command("a", iterations=100))
    wait_for(lambda: lab.measured("a"))
    runner = lab.runner_pid("a")
    result = lab.do(lab.command("cancel", "--job=a"))
    assert (result.returncode, result.stdout) == (0, "job a: cancelled\n")
    stdout, _ = foreground.communicate(timeout=60)
    assert foreground.returncode == 4
    last = events_of(stdout)[-1]
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "cancelled" in last.reason
    wait_for(lambda: not is_alive(runner))
    assert lab.do(lab.run_command("a", iterations=100)).stdout == stdout
    assert lab.do(lab.command("cancel", "--job=a")).stdout == "job a: was over already\n"


def test_a_stopped_runner_is_cancelled_all_the_same(lab):
    foreground = lab.start(lab.run_command("a", iterations=100))
    wait_for(lambda: lab.measured("a"))
    runner = lab.runner_pid("a")
    os.kill(runner, signal.SIGSTOP)
    assert Job(lab.state, "a", term_s=0.1).cancel()
    assert foreground.wait(120) == 4
    wait_for(lambda: not is_alive(runner))


def test_a_second_job_waits_for_the_testbed_and_says_for_whom(lab):
    first = lab.start(lab.run_command("one", iterations=30))
    wait_for(lambda: lab.measured("one"))
    second = lab.do(lab.run_command("two", iterations=1))
    assert second.returncode == 0
    assert first.wait(120) == 0
    waiting = events_of(second.stdout)[0]
    assert isinstance(waiting, Phase)
    assert "waiting for the testbed: job one" in waiting.text
    assert lab.measured("two")[0].at_s > lab.measured("one")[-1].at_s


def test_jobs_on_two_testbeds_do_not_wait_for_each_other(lab):
    first = lab.start(lab.run_command("one", iterations=1000))
    wait_for(lambda: lab.measured("one"))
    assert lab.do(lab.run_command("two", iterations=1, testbed="second")).returncode == 0
    assert first.poll() is None
    lab.do(lab.command("cancel", "--job=one"))
    first.communicate()


def test_a_job_that_waits_too_long_gives_up_as_an_infrastructure_error(tmp_path):
    lab = Lab(tmp_path, delay_s=SLOW_S, wait_s=0.3)
    first = lab.start(lab.run_command("one", iterations=1000))
    wait_for(lambda: lab.measured("one"))
    second = lab.do(lab.run_command("two"))
    assert second.returncode == 4
    assert "was not free within" in events_of(second.stdout)[-1].reason
    lab.do(lab.command("cancel", "--job=one"))
    first.communicate()


def test_the_same_name_for_another_measurement_is_a_usage_error(lab):
    lab.do(lab.run_command("a", iterations=1))
    result = lab.do(lab.run_command("a", iterations=2))
    assert result.returncode == 2
    assert "asked for before with another iterations" in result.stderr
    assert result.stdout == ""


def test_the_artefact_is_forgotten_with_the_job_and_old_jobs_are_pruned(lab):
    lab.do(lab.run_command("old", iterations=1))
    directory = lab.state / "jobs" / "old"
    assert not (directory / "artefact").exists()
    lab.do(lab.run_command("new", iterations=1))
    assert directory.exists()
    for file in directory.iterdir():
        os.utime(file, (0, 0))
    lab.do(lab.run_command("newer", iterations=1))
    assert not directory.exists()


def test_pid_and_start_of_the_runner_are_on_record(lab):
    lab.do(lab.run_command("a", iterations=1))
    note = json.loads((lab.state / "jobs" / "a" / "runner.json").read_text())
    assert note["started_at_s"] <= lab.measured("a")[0].at_s
    assert note["pid"] > 1
