"""testbeds.toml is data: what cannot be right in it is named by file, testbed and key."""

import shutil
from pathlib import Path

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.drivers.replay import ReplayDriver, ReplaySettings
from buildbot_bench.lab.testbeds import choose, load_testbeds, make_driver
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[testbeds.a]\n", "testbeds.a.driver: '' is no driver"),
        ('[testbeds.a]\ndriver = "embeded"\n', "did you mean 'embedded'"),
        ('[testbeds.a]\ndriver = "embedded"\nduraton_s = 1\n', "did you mean 'duration_s'"),
        ('[testbeds.a]\ndriver = "embedded"\nseries = "x"\n', "testbeds.a: unknown key 'series'"),
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
