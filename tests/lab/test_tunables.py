"""Tunables reach the kernel at every boot, and nothing else; a lab that cannot set them says so."""

import sys

import pytest

from buildbot_bench.core.wire import Failed, FailureKind, Measured
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.job import Job
from tests.fakes.lab import Lab, events_of

KERNEL = f"""#!{sys.executable}
import os, time
print("mask", os.environ.get("kern.random.harvest.mask"), flush=True)
print("listening on port 9", flush=True)
time.sleep(30)
"""


@pytest.mark.parametrize(
    ("tunables", "seen"), [((), "mask None"), (("kern.random.harvest.mask=351",), "mask 351")]
)
def test_a_kernel_finds_its_tunables_in_the_environment(tmp_path, tunables, seen):
    lab = Lab(tmp_path)
    kernel = lab.artefact(KERNEL)
    driver = EmbeddedDriver(EmbeddedSettings(duration_s=0.1), tmp_path / "home")
    if tunables:
        driver.tune(tunables)
    try:
        driver.install(kernel, sha256(kernel))
        driver.boot()
        assert seen in driver.console()
    finally:
        driver.shutdown()


def test_what_was_recorded_cannot_be_tuned(tmp_path):
    lab = Lab(tmp_path)
    result = lab.do([*lab.run_command("a"), "--sysctl=kern.random.harvest.mask=351"])
    assert result.returncode == 3
    (last,) = events_of(result.stdout)
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert "cannot set kern.random.harvest.mask=351" in last.reason


@pytest.mark.parametrize("setting", ["PATH=/tmp", "LD_PRELOAD=x", "a.b", "a.b=$(id)", "a.b=1 c"])
def test_what_is_no_tunable_is_a_usage_error(tmp_path, setting):
    lab = Lab(tmp_path)
    result = lab.do([*lab.run_command("a"), f"--sysctl={setting}"])
    assert (result.returncode, result.stdout) == (2, "")
    assert "write NAME=VALUE" in result.stderr


def test_a_job_with_other_tunables_is_another_job(tmp_path):
    lab = Lab(tmp_path)
    assert lab.do(lab.run_command("a")).returncode == 0
    result = lab.do([*lab.run_command("a"), "--sysctl=a.b=1"])
    assert result.returncode == 2
    assert "with another tunables" in result.stderr


def test_a_job_that_an_earlier_release_began_is_attached_to(tmp_path):
    lab = Lab(tmp_path)
    assert lab.do(lab.run_command("a")).returncode == 0
    path = Job(lab.state, "a").directory / "request.json"
    text = path.read_text()
    assert '"tunables": []' in text
    path.write_text(text.replace(', "tunables": []', "").replace(', "sample": ""', ""))
    again = lab.do(lab.run_command("a"))
    assert again.returncode == 0
    assert sum(isinstance(event, Measured) for event in events_of(again.stdout)) == 3
