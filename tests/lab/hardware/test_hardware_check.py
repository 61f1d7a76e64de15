"""The check-up of a testbed of machines: line by line what is missing and how to mend it."""

import sys
from dataclasses import replace

from buildbot_bench.core.wire import Phase
from buildbot_bench.lab.drivers.ssh import SshDriver
from buildbot_bench.lab.hardware.settings import SshSettings, WorkloadSettings
from buildbot_bench.lab.power import CommandPower
from tests.fakes.lab import events_of
from tests.running import ran


def lacking(driver):
    findings = driver.check()
    assert all(finding.subject and finding.detail for finding in findings)
    return {finding.subject: finding.remedy for finding in findings if not finding.fine}


def test_a_sound_testbed_lacks_nothing(bench):
    assert lacking(bench.driver()) == {}


def test_an_empty_testbed_lacks_everything_and_says_what_to_write(tmp_path):
    remedies = lacking(SshDriver(SshSettings(), tmp_path))
    assert set(remedies) == {
        *("dut.address", "dut.mac", "senders", "receiver.address", "receiver.interface"),
        *("workloads", "power"),
    }
    assert remedies["senders"] == "write [[testbeds.NAME.senders]] with address, interface, mac"


def test_each_thing_that_is_amiss_has_its_line(bench):
    settings = bench.settings()
    bench.generator.link("igb2", "0c:c4:7a:ab:29:36", "no carrier")
    (bench.dut.directory / "boot/kernel/kernel").rename(bench.dut.directory / "boot/kernel.away")
    remedies = lacking(
        bench.driver(
            senders=(
                replace(settings.senders[0], mac="00:00:00:00:00:01"),
                replace(settings.senders[0], interface="igb9"),
            ),
            dut=replace(settings.dut, interfaces=("igb7",)),
            traffic=replace(settings.traffic, pkt_gen="pkt-gun", offered_pps=0.0),
            workloads={"pf": WorkloadSettings(ready=(("false",),), configs=bench.root / "none")},
            power=CommandPower(cycle_command=("true",), status=("false",)),
        )
    )
    assert set(remedies) == {
        *("workloads.pf.configs", "traffic.offered_pps (for pf)", "known-good kernel"),
        *("DUT: igb7", "readiness of pf", "sender 0: pkt-gun", "sender 0: igb1"),
        *("sender 1: pkt-gun", "sender 1: igb9", "receiver: pkt-gun", "receiver: igb2", "power"),
    }


def flagged(bench, sender=(), receiver=()):
    settings = bench.settings()
    return {
        "senders": (replace(settings.senders[0], flags=sender),),
        "receiver": replace(settings.receiver, flags=receiver),
    }


def test_flags_are_tried_on_the_pkt_gen_that_is_there(bench):
    """The archive's `-U` is of a patched one; the stock pkt-gen prints its usage and ends."""
    changes = flagged(bench, ("-p", "4", "-U"), ("-T",))
    remedies = lacking(bench.driver(**changes))
    assert set(remedies) == {"sender 0: flags", "receiver: flags"}
    assert "take -U out of flags" in remedies["sender 0: flags"]
    details = {finding.subject: finding.detail for finding in bench.driver(**changes).check()}
    assert "illegal option -- U" in details["sender 0: flags"]
    assert "option requires an argument -- T" in details["receiver: flags"]
    (bench.network.wire / "patched").touch()
    assert lacking(bench.driver(**flagged(bench, ("-p", "4", "-U"), ("-T", "2000")))) == {}


def test_a_pkt_gen_that_knows_no_help_is_tried_as_well(bench):
    (bench.network.wire / "old").touch()
    assert lacking(bench.driver(**flagged(bench, ("-p", "4")))) == {}
    assert set(lacking(bench.driver(**flagged(bench, ("-U",))))) == {"sender 0: flags"}


def test_a_machine_that_does_not_answer_has_one_line_with_what_to_try(bench):
    bench.generator.stop_sshd()
    remedies = lacking(bench.driver())
    assert remedies == {
        "sender 0": "try `ssh generator true`",
        "receiver": "try `ssh generator true`",
    }


TESTBED = """
[testbeds.apu2]
driver = "ssh"
epoch = "1"
ssh_config = "{root}/ssh_config"
[testbeds.apu2.dut]
address = "dut"
mac = "00:0d:b9:41:ca:3d"
root = "{root}/dut"
[[testbeds.apu2.senders]]
address = "generator"
interface = "igb1"
mac = "0c:c4:7a:ab:29:35"
[testbeds.apu2.receiver]
address = "generator"
interface = "igb2"
[testbeds.apu2.traffic]
offered_pps = 1466333
duration_s = 0.5
[testbeds.apu2.workloads.forwarding]
ready = [["ping", "-c", "2", "198.19.0.203"]]
[testbeds.apu2.power]
driver = "command"
cycle_command = ["touch", "{root}/dut/run/power"]
status = ["printf", "dut on\\ngenerator on\\n"]
[testbeds.apu2.limits]
poll_s = 0.05
"""


def test_a_person_checks_a_testbed_and_measures_by_hand(bench, tmp_path):
    """As the issue has it: without a digest, without a job's name, without Buildbot."""
    (tmp_path / "testbeds.toml").write_text(TESTBED.format(root=bench.root))

    def lab(*arguments):
        command = [sys.executable, "-m", "buildbot_bench.lab.cli", *arguments]
        return ran(command, cwd=tmp_path)

    check = lab("check", "apu2")
    assert check.returncode == 0, check.stdout + check.stderr
    assert "ok      DUT: dut answers as " in check.stdout
    assert {line.split()[0] for line in check.stdout.splitlines()} == {"ok"}
    kernel = f"--artefact={bench.kernel()}"
    done = lab("run", "--testbed=apu2", kernel, "--workload=forwarding", "-n", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bench-lab: this is --job hand-" in done.stderr
    events = events_of(done.stdout)
    told = [event.text.split()[0] for event in events if isinstance(event, Phase)]
    told = [word for word in told if word != "ssh"]  # it may or may not be lost as the DUT reboots
    assert told == ["iteration", "installing", "rebooting", "waiting", "traffic"]
    assert 700_000 <= events[-2].values["pps"] < 700_100
