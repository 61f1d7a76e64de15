"""What the runner relies on, whichever testbed it drives: the same tests for every driver."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.lab.command.settings import CommandSettings, CommandWorkload
from buildbot_bench.lab.driver import Blast, Driver
from buildbot_bench.lab.drivers.command import CommandDriver
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.drivers.replay import ReplayDriver, ReplaySettings
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, QemuSettings
from tests.fakes.archives import pack
from tests.fakes.driver import KERNEL, FakeDriver
from tests.fakes.kernels import sound_kernel
from tests.fakes.lab import SERIES
from tests.fakes.lab_host.bench import MachineLab
from tests.fakes.lab_host.machines import SSHD
from tests.fakes.vm_kernels import build, need_machine, sources


@dataclass(frozen=True)
class Bench:
    """A testbed under test, and a kernel that it can run."""

    make: Callable[[], Driver]
    kernel: Path


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    root = tmp_path_factory.mktemp("embedded")
    settings = EmbeddedSettings(duration_s=0.1)
    return Bench(lambda: EmbeddedDriver(settings, root / "home"), sound_kernel(root))


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    root = tmp_path_factory.mktemp("replay")
    (root / "series.jsonl").write_text(json.dumps(SERIES), encoding="utf-8")
    (root / "kernel").write_text("r150\n", encoding="utf-8")
    settings = ReplaySettings(series=root / "series.jsonl")
    return Bench(lambda: ReplayDriver(settings, root / "home"), root / "kernel")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    root = tmp_path_factory.mktemp("command")
    pack(root / "artefact.tar.gz", {"bench": "#!/bin/sh\necho 7 MB/s\n"})
    workload = CommandWorkload(run="./bench", value="last-number", unit="MB/s")
    settings = CommandSettings(workloads={"compress": workload})
    return Bench(lambda: CommandDriver(settings, root / "home"), root / "artefact.tar.gz")


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    path = tmp_path_factory.mktemp("fake") / "kernel"
    path.write_text(KERNEL, encoding="utf-8")
    return Bench(FakeDriver, path)


@pytest.fixture
def hardware(tmp_path: Path) -> Iterator[Bench]:
    if SSHD is None:
        pytest.skip("there is no sshd here: install openssh-server")
    testbed = MachineLab(tmp_path / "lab")
    try:
        yield Bench(testbed.driver, testbed.kernel())
    finally:
        testbed.close()


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    need_machine()
    root = tmp_path_factory.mktemp("virtual")
    settings = QemuSettings(metric=INSTRUCTIONS)  # the quicker of the two
    return Bench(lambda: QemuDriver(settings, root / "home"), build(root / "src", sources()))


@pytest.fixture(
    params=[
        *("embedded", "replay", "command", "fake", "hardware"),
        pytest.param("virtual", marks=pytest.mark.vm),
    ]
)
def bench(request: pytest.FixtureRequest) -> Bench:
    found: Bench = request.getfixturevalue(request.param)
    return found


def iterate(driver: Driver) -> Blast:
    """One boot and one blast."""
    try:
        driver.boot()
        driver.verify()
        return driver.blast(driver.workloads()[0])
    finally:
        driver.shutdown()


def test_a_sound_kernel_gives_a_positive_value_in_a_unit(bench):
    driver = bench.make()
    driver.install(bench.kernel, sha256(bench.kernel))
    blast = iterate(driver)
    assert blast.values
    assert all(unit and value > 0 for unit, value in blast.values.items())


def test_one_installation_serves_many_boots_and_the_unit_stays(bench):
    driver = bench.make()
    driver.install(bench.kernel, sha256(bench.kernel))
    units = {next(iter(iterate(driver).values)) for _ in range(3)}
    assert len(units) == 1


def test_another_digest_is_a_fault_of_the_lab(bench):
    with pytest.raises(InfraError, match="SHA-256"):
        bench.make().install(bench.kernel, "0" * 64)


def test_what_is_no_kernel_is_untestable(bench, tmp_path):
    artefact = tmp_path / "artefact"
    artefact.write_bytes(b"\0nothing of the kind\n")
    driver = bench.make()
    with pytest.raises(UntestableRevision):  # noqa: PT012 - which of the two verbs is the driver's
        driver.install(artefact, sha256(artefact))
        iterate(driver)


def test_shutdown_and_console_may_be_asked_for_at_any_time(bench):
    driver = bench.make()
    driver.shutdown()
    assert isinstance(driver.console(), str)
    driver.install(bench.kernel, sha256(bench.kernel))
    driver.boot()
    assert isinstance(driver.console(), str)
    driver.shutdown()
    driver.shutdown()
    assert iterate(driver).values


def test_the_check_up_of_a_sound_testbed_finds_nothing_to_mend(bench):
    findings = bench.make().check()
    assert findings
    assert all(finding.fine and finding.subject and finding.detail for finding in findings)


def test_facts_are_texts_and_need_no_kernel(bench):
    facts = bench.make().facts()
    assert facts
    assert all(isinstance(text, str) for pair in facts.items() for text in pair)
