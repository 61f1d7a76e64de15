"""The testbed of commands: a fresh directory for each boot, and who is to blame in a whole job."""

import signal

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.metric import Metric
from buildbot_bench.core.wire import Failed, FailureKind, Finished, Measured
from buildbot_bench.lab.background import run_job
from buildbot_bench.lab.command.settings import CommandSettings, CommandWorkload
from buildbot_bench.lab.drivers.command import CommandDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.job import Job
from buildbot_bench.lab.runner import Request
from buildbot_bench.lab.testbeds import load_testbeds
from tests.fakes.archives import pack

TESTBED = """\
[testbeds.runner]
driver = "command"
retry-pause-s = 0
[testbeds.runner.workloads.speed]
run = "./bench"
value = "last-number"
unit = "s/run"
higher-is-better = false
"""


@pytest.fixture
def driver(tmp_path):
    def make(script, **settings):
        workload = CommandWorkload(run="./bench", value="last-number", unit="ops", **settings)
        made = CommandDriver(CommandSettings(workloads={"speed": workload}), tmp_path / "home")
        artefact = pack(tmp_path / "artefact.tar", {"bench": f"#!/bin/sh\n{script}\n"})
        made.prepare("speed")
        made.install(artefact, sha256(artefact))
        return made

    return make


def boot(driver):
    driver.boot()
    driver.verify()
    return driver.blast("speed")


def test_each_boot_has_a_directory_of_its_own(driver, tmp_path):
    made = driver("test -e left && exit 3; touch left; echo 5")
    assert [boot(made).values for _ in range(2)] == [{"ops": 5.0}] * 2
    made.shutdown()
    assert not (tmp_path / "home" / "unpacked").exists()


def test_tunables_are_in_the_environment_of_the_command(driver):
    made = driver('echo "$LEVEL"', environment={"LEVEL": "3"})
    assert boot(made).values == {"ops": 3.0}
    made.tune(["LEVEL=9"])
    assert boot(made).values == {"ops": 9.0}


def test_what_fails_is_told_in_a_line_and_its_output_is_the_console(driver):
    made = driver("echo the reason; exit 3")
    with pytest.raises(UntestableRevision) as caught:
        boot(made)
    assert str(caught.value) == "`run`, ./bench, ended with status 3"
    assert made.console() == "the reason"


def test_a_farm_judges_one_value(tmp_path):
    settings = CommandSettings(workloads={"suite": CommandWorkload(run="./b", value="all")})
    driver = CommandDriver(settings, tmp_path)
    with pytest.raises(InfraError, match="judges one value; name it, as in google-benchmark:"):
        driver.prepare("suite")
    assert "suite: value" in {one.subject for one in driver.check() if not one.fine}


def test_a_workload_that_is_not_there_is_the_labs(driver):
    with pytest.raises(InfraError, match="did you mean 'speed'"):
        driver("echo 5").prepare("sped")


def test_a_check_names_what_is_missing(tmp_path):
    workload = CommandWorkload(run="no-such-program", value="wall", cpus=(4095,))
    made = CommandDriver(CommandSettings(workloads={"speed": workload}), tmp_path)
    amiss = {finding.subject for finding in made.check() if not finding.fine}
    assert {"speed: no-such-program", "speed: processors"} <= amiss


@pytest.fixture
def measure(tmp_path):
    """The events of a job of three iterations of a script."""
    before = signal.getsignal(signal.SIGTERM)  # a runner has one of its own

    def measure(script):
        (tmp_path / "testbeds.toml").write_text(TESTBED)
        testbed = load_testbeds(tmp_path / "testbeds.toml")["runner"]
        artefact = pack(tmp_path / "artefact.tar", {"bench": f"#!/bin/sh\n{script}\n"})
        request = Request(
            job="j", testbed="runner", workload="speed", digest=sha256(artefact), iterations=3
        )
        job = Job(tmp_path / "state", "j")
        job.directory.mkdir(parents=True)
        artefact.rename(job.artefact)
        run_job(job, request, testbed, tmp_path / "state")
        return job.events.read()

    yield measure
    signal.signal(signal.SIGTERM, before)


def test_a_job_tells_what_its_unit_means(measure):
    started, *events = measure("echo 5")
    assert started.metrics == (Metric(name="value", unit="s/run", higher_is_better=False),)
    assert events[-1] == Finished(iterations=3)


@pytest.mark.parametrize(
    ("script", "kind", "attempts"),
    [
        ("exit 125", FailureKind.UNTESTABLE, 1),
        ("exit 1", FailureKind.UNTESTABLE, 2),
        ("exit 127", FailureKind.INFRASTRUCTURE, 3),
    ],
)
def test_a_job_ends_as_soon_as_it_is_sure_who_is_to_blame(measure, script, kind, attempts):
    *events, last = measure(script)
    assert isinstance(last, Failed)
    assert last.kind is kind
    assert sum(isinstance(event, Measured) for event in events) == attempts
