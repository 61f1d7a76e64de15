"""What a comparison's report says of luck with layout, by what the series' history tells."""

import math

import pytest

from buildbot_bench.core.compare.model import (
    ComparisonReport,
    SeriesValues,
    Verdict,
)
from buildbot_bench.core.compare.text import ONE_IMAGE, markdown, text
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, PPS, Metric
from tests.fakes.compared import LEARNT, comparison_of


def boots(change: float) -> tuple[float, ...]:
    return tuple(1e6 * math.exp(off) * (1 + change) for off in (-0.003, 0.0, 0.003, 0.001))


def composed(
    change: float,
    noise: Noise | None,
    images: tuple[int, ...] = (1, 2),
    metric: Metric = PPS,
) -> ComparisonReport:
    values = SeriesValues(
        testbed="apu",
        workload="forwarding",
        metric=metric,
        values=(boots(0.0), boots(change)),
        kernels=images,
        noise=noise,
    )
    return comparison_of([values], iterations=4)


@pytest.mark.parametrize(
    ("noise", "verdict", "said"),
    [
        (None, Verdict.UNDECIDED, f"{ONE_IMAGE}, worse by Student's t"),
        (LEARNT, Verdict.WITHIN_LUCK, "within the luck of layout"),
    ],
)
def test_a_history_tells_luck_where_student_tells_a_change(noise, verdict, said) -> None:
    report = composed(-0.03, noise)
    (change,) = report.series[0].changes
    assert (change.verdict, change.beyond_luck.said) == (verdict, said)
    assert change.p_value < 0.001
    assert said in text(report)
    assert f"| {said} |" in markdown(report)


def test_the_interval_is_the_models_beside_students() -> None:
    (change,) = composed(-0.03, LEARNT).series[0].changes
    assert change.effect == pytest.approx(-0.03, abs=0.001)
    assert change.high < 0 < change.beyond_luck.high


def test_variants_that_differ_in_tunables_alone_share_their_layout() -> None:
    (change,) = composed(-0.03, LEARNT, images=(7, 7)).series[0].changes
    assert (change.verdict, change.beyond_luck.separated) == (Verdict.WORSE, True)


def test_what_is_counted_has_no_layout() -> None:
    report = composed(0.03, None, metric=INSTRUCTIONS_PER_PACKET)
    (change,) = report.series[0].changes
    assert (change.verdict, change.beyond_luck.separated) == (Verdict.WORSE, True)
