"""A configuration of bench-lab.sh becomes a testbed; it is read, and never run."""

import os
import re
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.cli import main
from buildbot_bench.lab.hardware.check import gaps
from buildbot_bench.lab.hardware.config_set import SetParts, parts_of
from buildbot_bench.lab.imported_sets import read_assignments
from buildbot_bench.lab.importing import import_config
from buildbot_bench.lab.tables import load_testbeds

APU2 = Path(__file__).parents[1] / "data" / "lab" / "bench-lab-2nodes.config"


def write_set(directory, *files):
    for name in files:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("x\n")


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
        (tmp_path / "testbeds.toml").write_text(import_config(path, **options).text)
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
        write_set(tmp_path / "configs" / name, "etc/rc.conf")
    settings = imported(APU2, configs=tmp_path / "configs")["apu2-2"].settings
    assert set(settings.workloads) == {"forwarding", "pf-stateful"}
    assert settings.workloads["pf-stateful"].configs == tmp_path / "configs" / "pf-stateful"


def test_the_archives_vpn_sets_have_a_part_for_the_reference_endpoint(imported, config, tmp_path):
    """Its trees name the third machine refendpoint."""
    write_set(tmp_path / "vpn" / "aes-gcm-128", "dut/etc/ipsec.conf", "refendpoint/etc/ipsec.conf")
    text = f"{APU2.read_text()}REF_ADMIN=sm2\n"
    settings = imported(config(text), name="vpn", configs=tmp_path / "vpn")["vpn"].settings
    assert settings.reference.address == "sm2"
    configs = settings.workloads["aes-gcm-128"].configs
    parts = parts_of(configs)
    assert parts == SetParts(dut=configs / "dut", reference=configs / "refendpoint")
    assert [gap.subject for gap in gaps(settings)] == ["traffic.offered_pps (for aes-gcm-128)"]


def test_a_vpn_set_without_a_third_machine_is_refused(config, tmp_path):
    write_set(tmp_path / "vpn" / "null", "dut/etc/rc.conf", "refendpoint/etc/rc.conf")
    with pytest.raises(UsageError, match=r"vpn/null has a part for .*has no REF_ADMIN.*address"):
        import_config(config("DUT_ADMIN=x\n"), configs=tmp_path / "vpn")


def test_files_that_no_set_can_use_are_counted_and_named(config, tmp_path):
    root = tmp_path / "configs"
    write_set(
        root / "vpn", "dut/etc/rc.conf", "refendpoint/etc/rc.conf", "NOTES", "old/etc/rc.conf"
    )
    write_set(root / "forwarding", "etc/rc.conf")
    write_set(root, "README.md", "gen.sh")
    os.mkfifo(root / "forwarding/etc/pipe")
    (root / "forwarding/etc/localtime").symlink_to("/nowhere")
    found = import_config(config("DUT_ADMIN=x\nREF_ADMIN=y\n"), configs=root)
    named = "README.md, gen.sh, forwarding/etc/pipe, vpn/NOTES, vpn/old/etc/rc.conf"
    assert found.remarks == (f"5 files of {root} cannot be used: {named}",)
    assert f"# {found.remarks[0]}\n" in found.text


def test_the_command_says_what_is_left_out(config, tmp_path, capsys):
    write_set(tmp_path / "configs", "forwarding/etc/rc.conf", *(f"f{n}" for n in range(7)))
    path = config("DUT_ADMIN=x\nBEFORE_CMD='wg show'\n")
    assert main(["import", str(path), "--configs", str(tmp_path / "configs")]) == 0
    said = capsys.readouterr()
    assert "bench-lab: BEFORE_CMD is left out" in said.err
    assert "cannot be used: f0, f1, f2, f3, f4 and 2 more\n" in said.err
    assert "[testbeds.x.workloads.forwarding]" in said.out


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: None, r"there is no directory .*configs.*bench-lab\.sh gets by -c"),
        (lambda root: root.mkdir(), "configs holds no configuration set.*a directory for each"),
        (lambda root: write_set(root, "rc.conf"), "configs holds no configuration set"),
        (
            lambda root: (root / "pf/etc").mkdir(parents=True),
            "set .*configs/pf holds no file.*etc/",
        ),
        (lambda root: (root / "vpn/dut").mkdir(parents=True), "configs/vpn holds no file"),
    ],
)
def test_an_empty_set_or_tree_is_named_with_what_to_do(config, tmp_path, make, message):
    make(tmp_path / "configs")
    with pytest.raises(UsageError) as raised:
        import_config(config("DUT_ADMIN=x\n"), configs=tmp_path / "configs")
    assert re.search(message, str(raised.value))
    assert "\n" not in str(raised.value)


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
        (
            'DUT_ADMIN=x\nSENDER_START_CMD="equilibrium -4 -t igb1 -r igb2"\n',
            r"SENDER_START_CMD runs equilibrium, which seeks the highest load .*pkt-gen's command",
        ),
        (
            'DUT_ADMIN=x\nSENDER_2_START_CMD="/usr/local/bin/equilibrium -6"\n',
            "SENDER_2_START_CMD runs equilibrium",
        ),
        ('DUT_ADMIN=x\nRECEIVER_START_CMD="iperf3 -s"\n', "START_CMD runs 'iperf3', not pkt-gen"),
    ],
)
def test_what_is_no_assignment_is_named_and_not_run(config, text, message):
    with pytest.raises(UsageError, match=message):
        import_config(config(text))


def test_a_default_gives_way_to_what_stands_before(config):
    path = config('A="1"\n: ${A:="2"}\n: ${B:="$A${A}"}\nC=b\t# remark\nD="a\\\n b"\n')
    assert read_assignments(path) == {"A": "1", "B": "11", "C": "b", "D": "a  b"}


@given(st.text(alphabet=st.sampled_from("AB=${}:\"'`\n\\ #x()")))
def test_no_text_breaks_the_reader(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("config") / "x"
    path.write_text(text, encoding="utf-8")
    with suppress(UsageError):
        assert isinstance(read_assignments(path), dict)


VARIABLES = st.sampled_from(
    [
        *("PKT_SIZE", "REBOOT_TIMEOUT", "AF", "DUT_ADMIN", "SENDER_ADMIN", "RECEIVER_ADMIN"),
        *("SENDER_START_CMD", "SENDER_2_START_CMD", "RECEIVER_START_CMD", "IS_DUT_ONLINE_CMD"),
        *("SENDER_LAB_NET", "REF_ADMIN", "BEFORE_CMD", "DUT_LAB_IF_MAC_SENDER_SIDE"),
    ]
)
ODD = st.sampled_from(["9" * 400, "9" * 5000, "\u0663", "", ".", "pkt-gen -i", "pkt-gen -f 'x"])
VALUES = st.text(st.characters(exclude_characters='"`$\\')) | ODD


@given(values=st.dictionaries(VARIABLES, VALUES))
@example(values={"PKT_SIZE": "9" * 5000})
@example(values={"REBOOT_TIMEOUT": "9" * 5000})
@example(values={"REBOOT_TIMEOUT": "9" * 400})
@example(values={"DUT_ADMIN": ".example.org"})
def test_no_configuration_breaks_the_import(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("config") / "x"
    lines = [f'{name}="{value}"' for name, value in ({"DUT_ADMIN": "dut"} | values).items()]
    path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    with suppress(UsageError):
        tomllib.loads(import_config(path).text)
