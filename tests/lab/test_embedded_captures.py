"""Where an embedded kernel's processor time goes: sampled for real, and named by its symbols."""

import struct

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.functions import Cycles, compare_symbols
from buildbot_bench.lab.drivers.child import (
    SAMPLE_FRAMES,
    can_name,
    make_room,
    read_capture,
)
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.files import sha256
from tests.fakes.kernels import misbehaving_kernel, sound_kernel
from tests.running import ran

pytestmark = pytest.mark.skipif(not can_name(), reason="no nm(1) or no /proc/PID/maps here")
BASE = 0x555500000000


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    return sound_kernel(tmp_path_factory.mktemp("kernel"))


def test_a_real_kernel_is_seen_to_send_and_to_receive(kernel, tmp_path):
    driver = EmbeddedDriver(EmbeddedSettings(profile_s=2.0), tmp_path)
    driver.install(kernel, sha256(kernel))
    try:
        driver.boot()
        driver.verify()
        capture = driver.capture("forwarding")
    finally:
        driver.shutdown()
    assert capture.event == driver.counter() == "processor-time"
    inclusive = {
        symbol.name: symbol.old for symbol in compare_symbols(capture, capture, by=Cycles.INCLUSIVE)
    }
    assert inclusive["main"] > 0.9
    assert inclusive["netif_send"] > inclusive["netif_receive"] > 0
    chains = {stack.frames for stack in capture.stacks}
    assert any(chain[-3:] == ("main", "netif_send", "sendmmsg") for chain in chains)


def test_short_blasts_are_repeated_until_there_are_samples_enough(kernel, tmp_path):
    settings = EmbeddedSettings(profile_s=0.4)  # one gives some 30 samples at the most
    driver = EmbeddedDriver(settings, tmp_path)
    driver.install(kernel, sha256(kernel))
    try:
        driver.boot()
        capture = driver.capture("forwarding")
    finally:
        driver.shutdown()
    assert capture.samples > 50


def test_a_kernel_that_dies_as_it_is_sampled_is_a_fault_of_the_lab(tmp_path):
    kernel = misbehaving_kernel(tmp_path, "DIE")
    driver = EmbeddedDriver(EmbeddedSettings(profile_s=0.5), tmp_path / "home")
    driver.install(kernel, sha256(kernel))
    try:
        driver.boot()
        with pytest.raises(InfraError, match="as it was sampled"):
            driver.capture("forwarding")
    finally:
        driver.shutdown()


def symbol(kernel, name):
    """Start and size of a function in the kernel's file."""
    lines = ran(["nm", "-S", kernel], check=True).stdout
    (words,) = (line.split() for line in lines.splitlines() if line.split()[-1] == name)
    return int(words[0], 16), int(words[1], 16)


def test_an_address_has_the_name_of_the_function_that_it_lies_in_and_of_no_other(kernel, tmp_path):
    send, size = symbol(kernel, "netif_send")
    main, _ = symbol(kernel, "main")
    chains = [
        [BASE + send, BASE + main + 5],
        [BASE + send + size - 1, BASE + main + 1],  # a call's return is the instruction after it
        [BASE + 1],
        [7],
    ]
    samples = tmp_path / "samples"
    make_room(samples)
    with samples.open("r+b") as file:
        for chain in chains:
            frames = chain + [0] * (SAMPLE_FRAMES - len(chain))
            file.write(struct.pack(f"={1 + SAMPLE_FRAMES}Q", len(chain), *frames))
    maps = f"{BASE:x}-{BASE + 0x9000:x} r-xp 00000000 fe:01 12  {kernel}\n"
    capture = read_capture(samples, maps)
    assert {stack.frames: stack.samples for stack in capture.stacks} == {
        ("main", "netif_send"): 2,
        (f"[{kernel.name}]",): 1,
        ("[unknown]",): 1,
    }


def test_an_empty_file_has_no_samples(tmp_path):
    make_room(tmp_path / "samples")
    assert read_capture(tmp_path / "samples", "").samples == 0
