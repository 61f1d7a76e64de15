"""The testbed of commands: a fresh directory for each boot, and who is to blame in a whole job."""

import json
import math
import re
import signal

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.metric import Metric
from buildbot_bench.core.wire import Failed, FailureKind, Finished, Measured
from buildbot_bench.lab.background import run_job
from buildbot_bench.lab.command.settings import CommandSettings, CommandWorkload
from buildbot_bench.lab.driver import Request
from buildbot_bench.lab.drivers.command import CommandDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.job import Job
from buildbot_bench.lab.tables import load_testbeds
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
    def make(script, *, suite=False, **settings):
        given = {"value": "all"} if suite else {"value": "last-number", "unit": "ops"}
        workload = CommandWorkload(run="./bench", **given, **settings)
        made = CommandDriver(CommandSettings(workloads={"speed": workload}), tmp_path / "home")
        artefact = pack(tmp_path / "artefact.tar", {"bench": f"#!/bin/sh\n{script}\n"})
        made.prepare("speed")
        made.install(artefact, sha256(artefact))
        return made

    return make


def suite_of(*names):
    rows = [
        {"name": name, "run_type": "iteration", "real_time": place + 1.0}
        for place, name in enumerate(names)
    ]
    return json.dumps({"context": {}, "benchmarks": rows})


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


def test_a_suite_gives_its_values_and_a_mean_that_is_judged(driver):
    made = driver(f"echo '{suite_of(*(f'BM/{n}' for n in range(8)))}'", suite=True)
    blast = boot(made)
    assert {(one.name, one.unit): value for one, value in blast.named.items()} == {
        (f"BM/{n}", "ns"): n + 1.0 for n in range(8)
    }
    ((unit, mean),) = blast.values.items()
    assert re.fullmatch(r"ns \(8 values #[0-9a-f]{6}\)", unit)
    assert mean == pytest.approx(math.factorial(8) ** (1 / 8))
    assert made.metrics() == ()  # which its run says


def test_a_run_of_too_many_values_is_the_revisions_fault(driver, tmp_path):
    many = tmp_path / "many.json"
    for number, told in ((5000, "prints 5,000 values, more than 1,000"), (100_000, "too much")):
        many.write_text(suite_of(*(f"BM_{n}" for n in range(number))))
        with pytest.raises(UntestableRevision, match=told):
            boot(driver(f"cat {many}", suite=True))
    with pytest.raises(UntestableRevision, match="none of its 1 values is above 0"):
        boot(driver(f"echo '{suite_of('BM').replace('1.0', '-1')}'", suite=True))


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
