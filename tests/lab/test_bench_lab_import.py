"""A configuration of bench-lab.sh becomes a testbed; it is read, and never run."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.hardware.gaps import gaps
from buildbot_bench.lab.importing import import_config
from buildbot_bench.lab.shell_config import read_assignments
from buildbot_bench.lab.testbeds import load_testbeds

APU2 = Path(__file__).parents[1] / "data" / "lab" / "bench-lab-2nodes.config"


@pytest.fixture
def config(tmp_path):
    def config(text):
        path = tmp_path / "bench.config"
        path.write_text(text, encoding="utf-8")
        return path

    return config


@pytest.fixture
def imported(tmp_path):
    def imported(path, **options):
        (tmp_path / "testbeds.toml").write_text(import_config(path, **options))
        return load_testbeds(tmp_path / "testbeds.toml")

    return imported


def test_the_archives_apu2_is_a_testbed_that_lacks_only_what_the_script_never_knew(imported):
    settings = imported(APU2, name="apu2")["apu2"].settings
    assert settings.dut.address == "apu2-2.lab.example.org"
    assert settings.dut.mac == "00:0d:b9:41:ca:3d"
    assert settings.senders[0].interface == "igb1"
    assert settings.receiver.interface == "igb2"
    assert settings.limits.reboot_s == 300
    assert settings.workloads["forwarding"].ready == (
        ("ping", "-c", "2", "198.19.0.203"),
        ("ping", "-c", "2", "198.18.0.203"),
    )
    assert [gap.subject for gap in gaps(settings)] == ["traffic.offered_pps (for forwarding)"]


def test_its_command_line_is_the_scripts(imported):
    settings = imported(APU2)["apu2-2"].settings
    command = " ".join(settings.transmit(settings.traffic, 0))
    assert command == (
        "pkt-gen -N -f tx -i igb1 -n 0 -l 60 -4 -d 198.19.10.1:2001-198.19.10.100"
        " -D 00:0d:b9:41:ca:3d -s 198.18.10.1:2001-198.18.10.20 -S 0c:c4:7a:ab:29:35 -w 2 -U"
    )


def test_a_tree_of_configuration_sets_gives_the_workloads(imported, tmp_path):
    for name in ("forwarding", "pf-stateful"):
        (tmp_path / "configs" / name / "etc").mkdir(parents=True)
    settings = imported(APU2, configs=tmp_path / "configs")["apu2-2"].settings
    assert set(settings.workloads) == {"forwarding", "pf-stateful"}
    assert settings.workloads["pf-stateful"].configs == tmp_path / "configs" / "pf-stateful"


def test_two_generators_on_one_host_and_a_second_host_are_three_senders(imported, config):
    text = APU2.read_text() + 'SENDER_START_CMD_2="pkt-gen -f tx -i igb3 -p 2"\n'
    text += 'SENDER_ADMIN_2="sm2"\nSENDER_2_START_CMD="pkt-gen -f tx -i ix0"\nREF_ADMIN="ref"\n'
    settings = imported(config(text), name="a")["a"].settings
    assert [(end.interface, end.flags) for end in settings.senders] == [
        ("igb1", ("-U",)),
        ("igb3", ("-p", "2")),
        ("ix0", ()),
    ]
    assert settings.senders[2].address == "sm2"
    assert settings.reference.address == "ref"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A=1\nrm -rf /\n", r"bench\.config:2: not an assignment: 'rm -rf /'"),
        ("A=$(touch /tmp/x)\n", r":1: a command is not run"),
        ('\n\nA="`id`"\n', r":3: a command is not run"),
        ("A=1; reboot\n", r":1: cannot read '1; reboot'"),
        ("DUT_ADMIN=x\nPKT_SIZE=y\n", "PKT_SIZE is 'y'"),
        ("DUT_ADMIN=x\nREBOOT_TIMEOUT=1m\n", "REBOOT_TIMEOUT is '1m'"),
        ('A="x" "y"\n', r":1: cannot read"),
        ("A=1\n", "there is no DUT_ADMIN"),
    ],
)
def test_what_is_no_assignment_is_named_and_not_run(config, text, message):
    with pytest.raises(UsageError, match=message):
        import_config(config(text))


def test_a_default_gives_way_to_what_stands_before(config):
    path = config('A="1"\n: ${A:="2"}\n: ${B:="$A${A}"}\nC=b # remark\nD="a\\\n b"\n')
    assert read_assignments(path) == {"A": "1", "B": "11", "C": "b", "D": "a  b"}


@given(st.text(alphabet=st.sampled_from("AB=${}:\"'`\n\\ #x()")))
def test_no_text_breaks_the_reader(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("config") / "x"
    path.write_text(text, encoding="utf-8")
    with suppress(UsageError):
        assert isinstance(read_assignments(path), dict)
