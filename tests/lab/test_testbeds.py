"""testbeds.toml is data: what cannot be right in it is named by file, testbed and key."""

import shutil
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.drivers.replay import ReplayDriver, ReplaySettings
from buildbot_bench.lab.tables import choose, load_testbeds, make_driver
from buildbot_bench.lab.virtual.settings import QemuSettings

SHIPPED = Path(__file__).parents[2] / "workers" / "lab" / "testbeds.toml"


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "testbeds.toml"
        path.write_text(text, encoding="utf-8")
        return load_testbeds(path)

    return load


def test_a_testbed_has_the_settings_of_its_driver(load, tmp_path):
    testbeds = load(
        '[testbeds.a]\ndriver = "embedded"\nduration_s = 2\nepoch = "new cable"\n'
        '[testbeds.b]\ndriver = "replay"\nseries = "data/x.jsonl"\ndut = "APU2"\n'
    )
    assert testbeds["a"].settings == EmbeddedSettings(duration_s=2.0)
    assert testbeds["a"].common.epoch == "new cable"
    assert testbeds["b"].settings == ReplaySettings(series=tmp_path / "data/x.jsonl", dut="APU2")
    assert isinstance(make_driver(testbeds["a"], tmp_path), EmbeddedDriver)
    assert isinstance(make_driver(testbeds["b"], tmp_path), ReplayDriver)


PLACES = """\
[testbeds.a]
driver = "ssh"
ssh_config = "ssh_config"
[testbeds.a.power]
driver = "command"
off = ["./pdu", "off/7"]
on = ["pdu", "on/7"]
status = ["/bin/pdu", "status"]
[testbeds.a.console]
command = ["bin/console", "./apu2"]
[testbeds.b]
driver = "qemu"
program = "../qemu/bin/qemu"
[testbeds.c]
driver = "ssh"
[testbeds.c.power]
driver = "ipmi"
host = "h"
user = "u"
password_file = "ipmi.password"
program = "./ipmitool"
"""


def test_what_is_relative_is_beside_the_file_wherever_one_stands(tmp_path, monkeypatch):
    home, elsewhere = tmp_path / "lab", tmp_path / "builder"
    home.mkdir()
    elsewhere.mkdir()
    (home / "testbeds.toml").write_text(PLACES, encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    testbeds = load_testbeds(Path("../lab/testbeds.toml"))
    ssh, qemu, ipmi = (testbeds[name].settings for name in "abc")
    assert ssh.ssh_config == home / "ssh_config"
    assert ssh.power.off == (f"{home}/pdu", "off/7")
    assert ssh.power.on == ("pdu", "on/7")
    assert ssh.power.status == ("/bin/pdu", "status")
    assert ssh.console.command == (f"{home}/bin/console", "./apu2")
    assert qemu.program == f"{tmp_path}/qemu/bin/qemu"
    assert (ipmi.power.program, ipmi.power.password_file) == (
        f"{home}/ipmitool",
        home / "ipmi.password",
    )


def test_a_file_that_is_not_there_is_named_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"{tmp_path}/testbeds.toml"):
        load_testbeds(Path("testbeds.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[testbeds.a]\n", "testbeds.a.driver: '' is no driver"),
        ('[testbeds.a]\ndriver = "embeded"\n', "did you mean 'embedded'"),
        ('[testbeds.a]\ndriver = "embedded"\nduraton_s = 1\n', "did you mean 'duration_s'"),
        ('[testbeds.a]\ndriver = "qemu"\nlatency = {}\n', "testbeds.a.latency: QEMU's time is not"),
        ('[testbeds.a]\ndriver = "embedded"\nseries = "x"\n', "testbeds.a: unknown key 'series'"),
        ('[testbeds.a]\ndriver = "qemu"\nworkloads.forwarding.loss = {}\n', "QEMU's time is not"),
        ('[testbeds.a]\ndriver = "embedded"\nduration_s = "1"\n', "'1' is not a number"),
        ('[testbeds.a]\ndriver = "embedded"\nduration_s = true\n', "True is not a number"),
        ('[testbeds.a]\ndriver = "embedded"\nwait_s = -1\n', "wait_s: -1 is negative"),
        ('[testbeds.a]\ndriver = "embedded"\nepoch = 3\n', "epoch: 3 is not text"),
        ('[testbeds.a]\ndriver = "replay"\n', "testbeds.a.series is missing"),
        ('[testbeds.a]\ndriver = "replay"\nseries = 1\n', "1 is not a path"),
        ('[testbeds."a/b"]\ndriver = "embedded"\n', "not a name"),
        ("[testbed.a]\n", "unknown key 'testbed'; did you mean 'testbeds'"),
        ("testbeds = 1\n", "testbeds is no table"),
        ("[testbeds]\na = 1\n", "testbeds.a: not a table"),
        ("[testbeds\n", "line 1"),
    ],
)
def test_a_mistake_is_named_with_its_place(load, text, message):
    with pytest.raises(UsageError, match=r"testbeds\.toml") as caught:
        load(text)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_named_with_what_to_do(tmp_path):
    with pytest.raises(UsageError, match=r"none\.toml.*--testbeds FILE"):
        load_testbeds(tmp_path / "none.toml")


def test_a_testbed_that_is_not_there_is_answered_with_the_nearest(load):
    testbeds = load('[testbeds.apu2]\ndriver = "embedded"\n')
    with pytest.raises(UsageError, match="did you mean 'apu2'"):
        choose(testbeds, "apu")
    with pytest.raises(UsageError, match="there is none"):
        choose({}, "apu2")


def test_the_shipped_testbeds_are_sound_and_lack_nothing(tmp_path):
    testbeds = load_testbeds(SHIPPED)
    assert {"embedded", "replay"} <= set(testbeds)
    for testbed in testbeds.values():
        findings = make_driver(testbed, tmp_path / testbed.name).check()
        lacking = {finding.subject for finding in findings if not finding.fine}
        # Only the virtual machine needs a program that not every machine has.
        has_qemu = shutil.which("qemu-system-x86_64") is not None
        needed = {"QEMU"} if isinstance(testbed.settings, QemuSettings) and not has_qemu else set()
        assert lacking == needed, findings


WITH_SET = '[testbeds.a]\ndriver = "ssh"\n[testbeds.a.workloads.pf]\nconfigs = "sets/pf"\n'


def test_a_workloads_directory_says_what_testbeds_toml_does_not(load, tmp_path):
    (tmp_path / "sets/pf").mkdir(parents=True)
    beside = tmp_path / "sets/pf/workload.toml"
    beside.write_text('firewall = "pf"\nready = [["true"]]\n')
    assert load(WITH_SET)["a"].settings.workloads["pf"].firewall == "pf"
    workload = load(f'{WITH_SET}firewall = "ipfw"\n')["a"].settings.workloads["pf"]
    assert (workload.firewall, workload.ready) == ("ipfw", (("true",),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("firewal = 'pf'", r"sets/pf/workload\.toml: unknown key 'firewal'.*did you mean"),
        ("configs = 'x'", r"sets/pf/workload\.toml: unknown key 'configs'"),
        ("ready = 'ping'", r"sets/pf/workload\.toml: ready: 'ping' is not a list"),
        ("ready = ", r"sets/pf/workload\.toml: Invalid value .*; fix it; .*workloads\.pf names"),
    ],
)
def test_a_mistake_in_a_workloads_directory_is_named_there(load, tmp_path, text, message):
    (tmp_path / "sets/pf").mkdir(parents=True)
    (tmp_path / "sets/pf/workload.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        load(WITH_SET)


def test_keys_may_be_written_with_hyphens_but_not_twice(load):
    testbeds = load('[testbeds.a]\ndriver = "embedded"\nduration-s = 2\nretry-pause-s = 0\n')
    assert testbeds["a"].settings == EmbeddedSettings(duration_s=2.0)
    assert testbeds["a"].common.retry_pause_s == 0
    with pytest.raises(UsageError, match=r"testbeds\.a: 'duration_s' is there twice"):
        load('[testbeds.a]\ndriver = "embedded"\nduration-s = 2\nduration_s = 2\n')
    with pytest.raises(UsageError, match=r"testbeds\.a\.duration-s: 'x' is not a number"):
        load('[testbeds.a]\ndriver = "embedded"\nduration-s = "x"\n')
