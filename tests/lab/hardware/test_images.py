"""Whole images of nanobsd: written to the other slice by its upgrade, booted once, and verified."""

from __future__ import annotations

import lzma
from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.wire import Failed, FailureKind, Finished
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.settings import SliceSettings, WorkloadSettings
from tests.fakes.lab_host.bench import values

BOOTONCE = ("-a", "bootonce", "-i", "2", "ada0")
SLICES = SliceSettings(
    known_good="/dev/ufs/s1a",
    under_test="/dev/ufs/s2a",
    boot_once=(("gpart", "set", *BOOTONCE),),
    go_back=(("gpart", "unset", *BOOTONCE),),
)


def image(bench, way="", label="r311849"):
    text = f"FreeBSD 15.0-CURRENT #0 {label}: {way}\n    root@builder:NANO\n"
    text += f"options\tINET\nway: {way}\npps: 700000\n"
    path = bench.root / f"upgrade-{label}-{way}.img.xz"
    path.write_bytes(lzma.compress(text.encode()))
    return path


def driver(bench, **changes):
    dut = replace(bench.settings().dut, nanobsd=True, slices=SLICES)
    return bench.driver(dut=dut, **changes)


def configs(bench):
    for name in ("etc/pf.conf", "boot/loader.conf.local"):
        path = bench.root / "configs" / name
        path.parent.mkdir(parents=True)
        path.write_text("of the set\n")
    ping = (("ping", "-c", "2", "198.19.0.203"),)
    return {"forwarding": WorkloadSettings(ready=ping, configs=bench.root / "configs")}


def install(bench, artefact):
    used = driver(bench)
    try:
        used.install(artefact, sha256(artefact))
    finally:
        used.shutdown()


def test_an_image_is_written_once_and_booted_for_each_iteration(bench):
    workloads = configs(bench)
    measured, last = bench.run(image(bench), driver(bench, workloads=workloads), iterations=2)
    assert last == Finished(iterations=2)
    assert len(values(measured)) == 2
    calls = [call.split()[0] for call in bench.dut.calls()]
    # The set is copied when the new slice runs: its boot/ would land on the known-good one.
    order = ("upgrade", "gpart", "shutdown", "mount", "tar", "config")
    assert [call for call in calls if call in order] == [
        *("upgrade", "gpart", "shutdown", "mount", "tar", "mount", "config"),
        *("gpart", "shutdown") * 2,
    ]
    assert (bench.dut.directory / "etc/pf.conf").read_text() == "of the set\n"


def test_an_image_that_panics_falls_back_to_the_known_good_slice_and_is_untestable(bench):
    _, last = bench.run(image(bench, "PANIC"), driver(bench))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert "fell back" in last.reason
    assert "panic: page fault" in last.reason


def test_a_slice_that_is_not_booted_is_a_fault_of_the_lab(bench):
    bench.dut.script("ignores-nextboot")
    _, last = bench.run(image(bench), driver(bench))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "see whether boot_once is heeded" in last.reason


def test_a_kernel_that_does_not_stand_in_the_image_is_refused(bench):
    bench.dut.script("other-kernel")
    _, last = bench.run(image(bench), driver(bench))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "says of itself 'FreeBSD 13.0 #0 r308680" in last.reason


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("upgrade-fails", "ada0s2: Input/output error"),
        ("upgrade-says-nothing", "its log does not say 'Upgrade complete'"),
        ("cut-transfer", "the image arrived in part"),
    ],
)
def test_an_image_that_does_not_arrive_whole_is_a_fault_of_the_lab(bench, script, reason):
    bench.dut.script(script)
    with pytest.raises(InfraError, match=reason):
        install(bench, image(bench))


def test_what_is_no_whole_image_is_untestable_and_touches_nothing(bench):
    whole = image(bench)
    half = bench.root / "half.img.xz"
    half.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(UntestableRevision, match="is no image"):
        install(bench, half)
    assert bench.dut.calls() == []


def test_the_check_up_asks_for_what_images_need(bench):
    remedies = {one.subject for one in driver(bench).check() if not one.fine}
    assert remedies == set()
