"""Whole images of nanobsd: written to the other slice by its upgrade, booted once, and verified."""

import lzma
from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
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
    dut = replace(bench.settings().dut, bsdrp=True, slices=SLICES)
    return bench.driver(**({"dut": dut} | changes))


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


def test_an_image_with_a_debugger_panics_and_comes_back_by_itself(bench):
    """The loader of the other slice cannot be told; the running kernel can."""
    _, last = bench.run(image(bench, "KDB_DIES"), driver(bench, power=None))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert (
        "did not outlive the traffic (panic: page fault); the known-good kernel boots"
        in last.reason
    )


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


def test_an_image_is_not_given_to_an_upgrade_that_only_bsdrp_has(bench):
    slices = replace(bench.settings().dut, nanobsd=True, slices=SLICES)
    used = driver(bench, dut=slices)
    with pytest.raises(UsageError, match=r"dut\.slices\.upgrade: missing; .*bsdrp = true on BSDRP"):
        used.prepare("forwarding")


def test_another_nanobsd_has_a_command_of_its_own_that_need_not_log_anything(bench):
    bench.dut.script("upgrade-says-nothing")
    own = replace(SLICES, upgrade=("upgrade", "--to", "ada0s2"))
    dut = replace(bench.settings().dut, nanobsd=True, slices=own)
    _, last = bench.run(image(bench), driver(bench, dut=dut))
    assert last == Finished(iterations=1)
    assert "upgrade --to ada0s2" in bench.dut.calls()


def test_bootonce_is_asked_of_a_gpt_alone(bench):
    """sys/geom/part/g_part_gpt.c knows the attribute, g_part_mbr.c does not."""
    bench.dut.script("mbr")
    remedies = {one.subject: one.remedy for one in driver(bench).check() if not one.fine}
    assert set(remedies) == {"slices: bootonce"}
    assert "nextboot" in remedies["slices: bootonce"]
    _, last = bench.run(image(bench), driver(bench))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "ada0 has scheme MBR, and bootonce is an attribute of GPT's" in last.reason
    assert not [call for call in bench.dut.calls() if call.startswith("gpart set")]


def test_a_slice_that_stays_chosen_is_said_to(bench):
    active = ("gpart", "set", "-a", "active", "-i", "2", "ada0")
    slices = replace(SLICES, boot_once=(active,))
    dut = replace(bench.settings().dut, bsdrp=True, slices=slices)
    details = {one.subject: one.detail for one in driver(bench, dut=dut).check()}
    assert "stays chosen" in details["slices.boot_once"]
