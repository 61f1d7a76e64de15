"""The rate without loss: of simulated DUTs whose capacity is known, and what is asked amiss."""

import sys
import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.metric import NDR, PDR, more_is_better
from buildbot_bench.lab.loss_search import LossSettings, LossTrial, search_rates

LINE_PPS = 1_488_095.0


def dut(
    capacity_pps: float, *, noise: float = 0.0, stray: float = 0.0, seed: int = 0
) -> Callable[[float, float], LossTrial]:
    """Passes so much and loses the rest; a share of trials loses one packet more for no reason."""
    rng = Random(seed)

    def offer(rate_pps: float, duration_s: float) -> LossTrial:
        sent = round(rate_pps * duration_s)
        passed = min(sent, int(capacity_pps * duration_s * (1 + rng.gauss(0, noise))))
        passed -= rng.random() < stray
        return LossTrial(
            rate_pps=rate_pps, duration_s=duration_s, wanted=sent, sent=sent, received=passed
        )

    return offer


@settings(deadline=None)
@given(st.floats(2_000, 1_400_000), st.sampled_from([0.005, 0.02]))
def test_both_rates_lie_within_the_width_of_the_capacity(capacity, width):
    found = search_rates(dut(capacity), LossSettings(width=width), most_pps=LINE_PPS)
    assert found.narrow
    ndr, pdr = found.rates[NDR.unit], found.rates[PDR.unit]
    assert ndr.lower_pps <= capacity * 1.0001
    assert ndr.upper_pps >= capacity * 0.9999
    assert 1 - ndr.lower_pps / ndr.upper_pps <= width * 1.01
    assert ndr.value_pps == pytest.approx(capacity, rel=1.01 * width)
    # At .5 % loss a rate may be offered that is above the capacity, but not more than it passes.
    assert ndr.value_pps <= pdr.value_pps <= capacity * 1.0001
    assert pdr.upper_pps >= capacity / 0.995 * 0.999
    assert len(found.trials) < 80


def test_a_packet_that_is_lost_now_and_then_does_not_count_for_the_dut():
    for seed in range(10):
        found = search_rates(
            dut(400_000, stray=0.1, seed=seed), LossSettings(trials=5), most_pps=LINE_PPS
        )
        assert found.rates[NDR.unit].value_pps == pytest.approx(400_000, rel=0.01)


def test_what_passes_all_is_as_fast_as_the_line():
    found = search_rates(dut(2e6), LossSettings(), most_pps=LINE_PPS)
    assert found.rates[NDR.unit].value_pps == pytest.approx(LINE_PPS)
    assert found.rates[NDR.unit].upper_pps is None
    assert f"{NDR.unit}: 1488095 to none pps" in found.log


def test_what_loses_at_any_rate_has_no_rate_without_loss():
    found = search_rates(dut(1e6, stray=1.0), LossSettings(), most_pps=LINE_PPS)
    assert found.rates[NDR.unit].value_pps is None
    assert found.rates[PDR.unit].value_pps == pytest.approx(1e6, rel=0.01)


def test_when_the_time_is_over_the_bounds_are_kept():
    limits = LossSettings(trial_s=0.1, most_s=0.2)
    slow = dut(400_000)

    def offer(rate_pps: float, duration_s: float) -> LossTrial:
        time.sleep(0.05)
        return slow(rate_pps, duration_s)

    found = search_rates(offer, limits, most_pps=LINE_PPS)
    assert not found.narrow
    assert 1 < len(found.trials) < 8
    assert "the time was over" in found.log
    assert found.log.startswith("1488095 pps for 0.1 s: sent 148810, lost 108810\n")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"trial_s": 0.0}, "trial_s: 0 is not in"),
        ({"trials": 0}, "trials: 0 is not in"),
        ({"width": 0.5}, "width: 0.5 is not in"),
        ({"least_pps": float("nan")}, "least_pps: nan is no rate"),
        ({"most_s": 1.0}, "most_s: 1 is not longer than a trial"),
    ],
)
def test_settings_that_make_no_search_are_refused(wrong, complaint):
    with pytest.raises(UsageError, match=complaint):
        LossSettings(**wrong)


def test_rates_that_are_none_and_a_lab_without_the_program_are_said(monkeypatch):
    with pytest.raises(InfraError, match="from 1000 to 500 pps are none; lower least_pps"):
        search_rates(dut(1e6), LossSettings(), most_pps=500)
    monkeypatch.setitem(sys.modules, "MLRsearch", None)
    with pytest.raises(InfraError, match="MLRsearch is not installed here"):
        search_rates(dut(1e6), LossSettings(), most_pps=LINE_PPS)


def test_a_higher_rate_without_loss_is_better():
    assert more_is_better(NDR.unit)
    assert more_is_better(PDR.unit)
