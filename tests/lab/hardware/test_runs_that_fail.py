"""Every fault of a run of traffic, on one boot of one sound kernel: named, and never a verdict."""

from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.files import sha256
from tests.fakes.lab_host.bench import LOAD_PPS, RECEIVER_MAC, MachineLab
from tests.fakes.lab_host.machines import SSHD


@pytest.fixture(scope="module")
def module_bench(tmp_path_factory):
    if SSHD is None:
        pytest.skip("there is no sshd here: install openssh-server")
    bench = MachineLab(tmp_path_factory.mktemp("runs") / "lab")
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def module_driver(module_bench):
    driver = module_bench.driver()
    kernel = module_bench.kernel()
    driver.install(kernel, sha256(kernel))
    driver.boot()
    driver.verify()
    yield driver
    driver.shutdown()


@pytest.fixture
def bench(module_bench, module_driver):
    """The DUT as it was booted, forwarding at its usual rate, and nothing scripted."""
    wire = module_bench.network.wire
    for script in (wire / "script").iterdir():
        script.unlink()
    (wire / "load").write_text(str(LOAD_PPS))
    (wire / "passes").write_text("700000")
    module_bench.generator.link("igb2", RECEIVER_MAC)
    return module_bench


@pytest.fixture
def blast(bench, module_driver):
    """One run, with some deadlines shortened; what went before on that boot is forgotten."""

    def blast(**within):
        driver = bench.driver(within=within)
        driver._boot = module_driver._boot
        try:
            return driver.blast("forwarding").values["pps"]
        finally:
            driver.shutdown()

    return blast


def test_nothing_is_wrong_with_a_sound_run(blast):
    assert 700_000 <= blast() < 700_100


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("ouch", "the receiver crashed: ouch, thread 0 exited with error"),
        ("truncated", "truncated: nothing is left of 1 intervals"),
        ("sender-ouch", "the sender crashed: ouch"),
        ("ssh-dies", "ssh lost a sender under traffic"),
        ("ssh-freezes", "ssh lost a sender under traffic"),
    ],
)
def test_a_generator_that_fails_is_told_from_a_kernel_that_does(bench, blast, script, reason):
    bench.network.script(script)
    with pytest.raises(InfraError, match=reason):
        blast()
    assert blast()


def test_a_receiver_that_does_not_open_its_ring_is_not_waited_for_without_end(bench, blast):
    bench.network.script("deaf-receiver")
    before = len(bench.pkt_gens())
    with pytest.raises(InfraError, match=r"the receiver was not ready after 5 s: [^$]*Ready\.\.\."):
        blast(receiver_s=5)
    assert len(bench.pkt_gens()) == before + 1
    assert not bench.generator.running("pkt-gen")


def test_a_sender_without_end_is_stopped_by_its_number(bench, blast):
    bench.network.script("endless-sender")
    with pytest.raises(InfraError, match=r"the sender came to no end within 1\.5 s"):
        blast(margin_s=1)
    assert not bench.generator.running("pkt-gen")


def test_an_option_that_pkt_gen_does_not_take_is_named_before_anything_is_booted(bench):
    settings = bench.settings()
    senders = (replace(settings.senders[0], flags=("-U",)),)
    boots = bench.dut.boots
    with pytest.raises(InfraError, match=r"sender 0: pkt-gen of generator .*option -- U; take -U"):
        bench.driver(senders=senders).facts()
    assert bench.dut.boots == boots


@pytest.mark.parametrize("end", ["senders", "receiver"])
def test_an_option_that_pkt_gen_does_not_take_is_named_when_it_ends_at_it(
    bench, module_driver, end
):
    settings = bench.settings()
    changes = {
        "senders": {"senders": (replace(settings.senders[0], flags=("-U",)),)},
        "receiver": {"receiver": replace(settings.receiver, flags=("-U",))},
    }
    driver = bench.driver(**changes[end])
    driver._boot = module_driver._boot
    with pytest.raises(
        InfraError, match=r"pkt-gen does not take its options: .*illegal option -- U"
    ):
        driver.blast("forwarding")
    driver.shutdown()


def test_a_port_without_a_link_is_named(bench, blast):
    bench.generator.link("igb2", RECEIVER_MAC, "no carrier")
    with pytest.raises(InfraError, match="generator: igb2 has no link"):
        blast(receiver_s=5)


def test_an_offered_load_that_is_off_is_refused(bench, blast):
    (bench.network.wire / "load").write_text(str(LOAD_PPS * 0.97))
    with pytest.raises(InfraError, match=r"the offered load was 1422343 pps, -3\.0% off 1466333"):
        blast()


def test_saturation_is_measured_and_said(bench, module_driver):
    (bench.network.wire / "passes").write_text("1460000")
    blast = module_driver.blast("forwarding")
    assert 1_460_000 <= blast.values["pps"] < 1_460_100
    assert blast.log.endswith("passed, the DUT could do more")


def test_a_level_far_from_its_siblings_is_refused_until_it_comes_again(bench, module_driver):
    module_driver._siblings = [250_000.0, 251_000.0]
    with pytest.raises(InfraError, match="far from its siblings' 250500"):
        module_driver.blast("forwarding")
    assert module_driver.blast("forwarding").values["pps"] >= 700_000


def test_a_generator_that_cannot_be_reached_is_named(bench, blast):
    bench.generator.stop_sshd()
    try:
        with pytest.raises(InfraError, match=r"the receiver ended: .*generator"):
            blast()
    finally:
        bench.generator.start_sshd()
