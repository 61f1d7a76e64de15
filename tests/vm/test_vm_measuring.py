"""What is measured on a virtual machine: packets per second, and instructions to the digit."""

import pytest

from buildbot_bench.core.profile.functions import compare_costs, price
from buildbot_bench.demo.cli import SLIGHTLY_SLOWER, SLOWER
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, QemuSettings

pytestmark = pytest.mark.vm

EXACT = QemuSettings(metric=INSTRUCTIONS)
SAMPLED = QemuSettings(bursts=500)


def blasts(settings, kernel, home, boots=1):
    """What each of some boots of a kernel gives."""
    dut = Dut(QemuDriver(settings, home), kernel, sha256(kernel))
    given = []
    for _ in range(boots):
        with dut:
            dut.boot()
            dut.verify()
            given.append(dut.blast("forwarding"))
    return given


def capture(kernel, home):
    with Dut(QemuDriver(EXACT, home), kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        return dut.capture("forwarding")


def test_instructions_are_the_same_at_each_boot_to_the_last_one(kernels, tmp_path):
    first, second, third = blasts(EXACT, kernels(), tmp_path, boots=3)
    assert first.values == second.values == third.values
    assert first.log == second.log == third.log
    assert 500 < first.values[INSTRUCTIONS] < 2000


def test_four_instructions_more_are_seen_and_named(kernels, tmp_path):
    (old,) = blasts(EXACT, kernels(), tmp_path)
    (new,) = blasts(EXACT, kernels(SLIGHTLY_SLOWER), tmp_path)
    more = new.values[INSTRUCTIONS] - old.values[INSTRUCTIONS]
    assert more == pytest.approx(4, abs=1.5)  # as this compiler has it
    assert 0.003 < more / old.values[INSTRUCTIONS] < 0.008
    before, after = capture(kernels(), tmp_path), capture(kernels(SLIGHTLY_SLOWER), tmp_path)
    priced = price(before, after)
    assert priced is not None
    (change,) = [one for one in compare_costs(*priced) if one.delta]
    assert change.name == "ip_forward"
    assert change.delta == pytest.approx(more)


def test_the_order_of_linking_changes_no_instruction(kernels, tmp_path):
    relinked = kernels("r320000", (), "BENCH_IMAGE=1")
    assert sha256(relinked) != sha256(kernels())
    (one,), (other,) = (blasts(EXACT, kernel, tmp_path) for kernel in (kernels(), relinked))
    assert one.values == other.values


def test_a_slow_kernel_forwards_fewer_packets_per_second(kernels, tmp_path):
    # In turns: what else the machine does slows both down.
    old, new = kernels(), kernels(SLOWER)
    order = (old, new, new, old) * 2
    rates = [(kernel, blasts(SAMPLED, kernel, tmp_path)[0].values["pps"]) for kernel in order]
    best = [max(pps for kernel, pps in rates if kernel == one) for one in (old, new)]
    assert best[1] < 0.9 * best[0]


def test_a_lab_may_lie_in_a_directory_of_any_name(kernels, tmp_path):
    (blast,) = blasts(EXACT, kernels(), tmp_path / 'a lab, "ours"')
    assert blast.values


def test_the_log_of_an_exact_run_has_all_instructions_by_function(kernels, tmp_path):
    (blast,) = blasts(EXACT, kernels(), tmp_path)
    lines = blast.log.splitlines()[2:]
    assert sum(float(line.split()[0]) for line in lines) == pytest.approx(
        blast.values[INSTRUCTIONS], abs=0.01 * len(lines)
    )
    assert {"route_lookup", "ip_forward", "header_checksum"} <= {line.split()[1] for line in lines}
