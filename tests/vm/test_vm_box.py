"""`bench-lab box`: what init writes, and machines of a real QEMU switched on, cycled and off."""

import io
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from buildbot_bench.lab.box.machines import is_on
from buildbot_bench.lab.box.making import load_box
from buildbot_bench.lab.cli import main
from buildbot_bench.lab.tables import load_testbeds
from tests.fakes.boxes import parts_of_a_box

DONE, USAGE, ILL = 0, 2, 4
# Where no machine is switched on any program will do.
NO_QEMU = "--qemu=true"
needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-system-x86_64") is None, reason="QEMU is not installed"
)
# In place of ssh(1): a machine answers when the file says so, which no empty disk would.
SSH = """\
#!/bin/sh
test -f "{answers}"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A world of empty files and a kernel archive; a machine of it boots nothing."""
    parts_of_a_box(tmp_path)
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(SSH.format(answers=tmp_path / "answers"))
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for box in tmp_path.glob("box*/box.json"):
        main(["box", "down", "--now", str(box.parent)])


def init(place, name="box", *words):
    worlds = ["--world", str(place / "world"), "--kernel", str(place / "kernel.txz")]
    return main(["box", "init", name, *worlds, "--disk-mib=20", *words])


def test_init_writes_a_testbed_of_the_ssh_driver_and_keeps_its_keys_to_its_owner(place):
    assert init(place, "box", NO_QEMU) == DONE
    box = place / "box"
    testbed = load_testbeds(box / "testbeds.toml")["box"]
    assert testbed.common.driver == "ssh"
    settings = testbed.settings
    (sender,) = settings.senders
    assert (settings.dut.address, sender.address, sender.interface) == ("dut", "generator", "em0")
    for workload in ("forwarding", "forwarding-inet6"):
        traffic = settings.traffic_of(workload)
        command = settings.transmit(traffic, 0)
        assert command[-2:] == ["-R", str(int(traffic.offered_pps))]
        assert command.count("-R") == 1
    assert (settings.receiver.interface, settings.dut.interfaces) == ("em1", ("em0", "em1"))
    assert {"forwarding", "ipfw-statefull", "pf-statefull"} <= set(settings.workloads)
    assert settings.power.check().splitlines() == [
        f"{machine.name}\toff\tssh port {machine.ssh_port}" for machine in load_box(box).machines
    ]
    for secret in ("key", "host-key"):
        assert stat.S_IMODE((box / secret).stat().st_mode) == 0o600
    assert stat.S_IMODE(box.stat().st_mode) == 0o700
    assert "Host dut\n    Port " in (box / "ssh_config").read_text()
    disks = [machine.disk for machine in load_box(box).machines]
    content = disks[0].read_bytes()
    assert content == disks[1].read_bytes()
    # FreeBSD 13.1's syslogd(8) said “Service was not recognized” and ended: no machine had a log.
    assert b"syslog 514/udp\n" in content
    # FreeBSD 15.0's sender ran out of memory after some jobs, and answered no ssh.
    assert b"dev.netmap.buf_num=16384\n" in content
    # What is nothing takes no room.
    assert disks[0].stat().st_blocks * 512 < disks[0].stat().st_size / 2


def test_three_machines_have_sender_and_receiver_apart(place):
    assert init(place, "box", NO_QEMU, "--machines=3") == DONE
    settings = load_testbeds(place / "box" / "testbeds.toml")["box"].settings
    (sender,) = settings.senders
    assert (sender.address, settings.receiver.address) == ("sender", "receiver")
    assert (sender.interface, settings.receiver.interface) == ("em0", "em0")
    assert len({sender.mac, settings.receiver.mac, settings.dut.mac}) == 3


def test_what_is_wrong_is_a_line_before_anything_is_made(place, capsys, monkeypatch):
    def refused(status, text, *words, name="box"):
        assert init(place, name, NO_QEMU, *words) == status
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert text in line
        assert not (place / "box").exists()

    refused(USAGE, "is no world: it has no boot/pmbr", "--world", str(place))
    refused(USAGE, "there is no", "--kernel", str(place / "none.txz"))
    refused(USAGE, "bytes too long for sockets", name="b" * 100)
    refused(USAGE, "is not empty", name="world")
    refused(ILL, "MiB are free at", "--disk-mib=100000000")
    refused(ILL, "there is no no-qemu; install it; Debian: qemu-system-x86", "--qemu=no-qemu")
    monkeypatch.setenv("PATH", "/nowhere")
    refused(ILL, "there is no makefs")
    assert main(["box", "status", "nowhere"]) == USAGE
    assert "bench-lab box init" in capsys.readouterr().err


@needs_qemu
@pytest.mark.vm
def test_machines_are_switched_on_cycled_and_off_and_two_boxes_do_not_meet(place, capsys):
    (place / "answers").touch()
    boxes = [place / "box", place / "box2"]
    for box in boxes:
        assert init(place, box.name) == DONE
    for box in boxes:
        assert main(["box", "up", str(box)]) == DONE
    machines = [machine for box in boxes for machine in load_box(box).machines]
    assert all(map(is_on, machines))
    assert len({machine.ssh_port for machine in machines}) == len(machines)
    for machine in machines:
        socket.create_connection(("127.0.0.1", machine.ssh_port)).close()
    assert main(["box", "cycle", "box", "dut"]) == DONE
    assert is_on(machines[0])
    assert main(["box", "cycle", "box", "nobody"]) == USAGE
    assert "the box has dut, generator" in capsys.readouterr().err
    assert main(["box", "down", "--now", "box"]) == DONE
    capsys.readouterr()
    assert main(["box", "status", "box"]) == DONE
    assert capsys.readouterr().out.count("\toff\t") == 2
    assert all(map(is_on, machines[2:]))


@needs_qemu
@pytest.mark.vm
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_up_leaves_no_machine_on(place, number):
    assert init(place) == DONE
    words = [sys.executable, "-m", "buildbot_bench.lab.cli", "box", "up", "box"]
    machines = load_box(place / "box").machines
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        while not all(map(is_on, machines)):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate()[1]
    assert process.returncode == ILL
    assert "what was switched on is off again" in said
    assert not any(map(is_on, machines))


@needs_qemu
@pytest.mark.vm
def test_a_killed_up_leaves_machines_that_down_finds(place):
    assert init(place) == DONE
    words = [sys.executable, "-m", "buildbot_bench.lab.cli", "box", "up", "box"]
    machines = load_box(place / "box").machines
    with subprocess.Popen(words) as process:
        while not all(map(is_on, machines)):
            time.sleep(0.05)
        process.kill()
    assert main(["box", "down", "--now", "box"]) == DONE
    assert not any(map(is_on, machines))


@needs_qemu
@pytest.mark.vm
def test_a_console_is_read_and_typed_at(place, monkeypatch, capfdbinary):
    (place / "answers").touch()
    assert init(place) == DONE
    assert main(["box", "up", "box"]) == DONE
    keyboard, typed = os.pipe()
    os.write(typed, b"x\x1d")
    with Path(f"/dev/fd/{keyboard}").open("rb") as stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        assert main(["box", "console", "box", "dut"]) == DONE
    assert main(["box", "down", "--now", "box"]) == DONE
    assert main(["box", "console", "box", "dut"]) == ILL
