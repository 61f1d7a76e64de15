"""How instructions are counted: by a plugin of QEMU's or by its log, and in spite of a clock."""

from dataclasses import replace

import pytest

from buildbot_bench.core.profile.model import EXECUTED
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, QemuSettings
from tests.edits import Edit
from tests.fakes.freebsd_kernels import forwarding_kernel

pytestmark = pytest.mark.vm

TOY = QemuSettings(metric=INSTRUCTIONS)
FREEBSD = QemuSettings(system="freebsd", metric=INSTRUCTIONS, memory_mib=160)
_MAIN = "src/main.c"
_WORK = """
static void
work(int n)
{
	for (volatile int i = 0; i < n; i++)
		continue;
}

"""
# A ring of 1024 that is refilled when it was used up.
RING = (
    Edit(path=_MAIN, old="static void\nforward_all(", new=_WORK + "static void\nforward_all("),
    Edit(
        path=_MAIN,
        old="\t\tip_forward(mbuf);\n",
        new="\t{\n\t\tstatic unsigned used;\n\n\t\tip_forward(mbuf);\n"
        "\t\tif (++used % 1024 == 0)\n\t\t\twork(300);\n\t}\n",
    ),
)
# A handler of ticks, each of which takes another time, and a clock of 100 a second.
HANDLER = (
    Edit(
        path=_MAIN,
        old="void\nkernel_main(void)\n{\n",
        new="static void\ntick(void *argument)\n{\n\tstatic unsigned ticks;\n\n\t(void)argument;\n"
        "\twork(100 + 7 * (++ticks % 50));\n}\n\nvoid\nkernel_main(void)\n{\n",
    ),
    Edit(
        path=_MAIN,
        old='\tprint("forwarding\\n");\n',
        new='\tinterrupt_establish(0, tick, NULL);\n\tprint("forwarding\\n");\n',
    ),
)
CLOCK = Edit(
    path=_MAIN,
    old="\tinterrupt_establish(0, tick, NULL);\n",
    # 18 Hz, the slowest: on a busy machine a burst may take some milliseconds.
    new="\tout8(0x43, 0x34);\n\tout8(0x40, 0);\n\tout8(0x40, 0);\n"
    "\tinterrupt_establish(0, tick, NULL);\n",
)


def blast(settings, kernel, home):
    driver = QemuDriver(settings, home)
    with Dut(driver, kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        return driver.facts()["counted by"], dut.blast("forwarding")


def test_the_facts_say_what_a_count_depends_on(kernels, tmp_path):
    facts = QemuDriver(replace(FREEBSD, kenv=("a=b",)), tmp_path).facts()
    assert facts["icount"] == "shift=2,sleep=on"
    assert facts["kenv"].startswith("kern.hz=40 ")
    assert facts["kenv"].endswith(" a=b")
    assert not {"counted by", "icount"} & set(QemuDriver(QemuSettings(), tmp_path).facts())


def test_the_plugin_and_the_log_count_alike_to_the_last_instruction(kernels, tmp_path, monkeypatch):
    how, quick = blast(TOY, kernels(), tmp_path / "plugin")
    assert how == "a plugin of QEMU's"
    monkeypatch.setenv("CC", "compiler-of-nobody")
    how, slow = blast(TOY, kernels(), tmp_path / "log")
    assert how == "QEMU's log, which is slow: there is no C compiler"
    assert quick == slow


def test_the_check_up_says_how_instructions_are_counted(kernels, tmp_path, monkeypatch):
    findings = {f.subject: f for f in QemuDriver(TOY, tmp_path).check()}
    assert (findings["counting"].detail, findings["counting"].fine) == ("a plugin of QEMU's", True)
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nfor word; do test "$last" = -o && : >"$word"; last=$word; done')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    findings = {f.subject: f for f in QemuDriver(TOY, tmp_path / "other").check()}
    detail = findings["counting"].detail
    assert detail.startswith(
        "QEMU's log, which is slow: this QEMU does not count by a plugin; see "
    )
    assert "counting" not in {f.subject for f in QemuDriver(QemuSettings(), tmp_path).check()}


def test_a_clock_is_not_counted_and_a_ring_is(kernels, tmp_path):
    quiet = forwarding_kernel(tmp_path, kernels(edits=(*RING, *HANDLER)))
    _, without = blast(replace(FREEBSD, traced_bursts=16), quiet, tmp_path / "quiet")
    assert without.log.startswith("all of 16 bursts\n")
    (tmp_path / "clock").mkdir()
    ticking = forwarding_kernel(tmp_path / "clock", kernels(edits=(*RING, *HANDLER, CLOCK)))
    _, counted = blast(FREEBSD, ticking, tmp_path / "ticking")
    assert counted.log.startswith("a period of 16 bursts, 32 rounds; ")
    assert counted.values == without.values
    _, all_of_it = blast(replace(FREEBSD, traced_bursts=1024), ticking, tmp_path / "ticking")
    assert all_of_it.values[INSTRUCTIONS] > without.values[INSTRUCTIONS]


def test_a_capture_is_what_the_value_was_counted_from(kernels, tmp_path):
    kernel = forwarding_kernel(tmp_path, kernels(edits=RING))
    with Dut(QemuDriver(FREEBSD, tmp_path / "home"), kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        value = dut.blast("forwarding").values[INSTRUCTIONS]
        profile = dut.capture("forwarding")
    assert (profile.event, profile.packets) == (EXECUTED, 16 * 64)
    assert profile.samples == value * profile.packets
    assert profile.merged().packets == profile.packets
