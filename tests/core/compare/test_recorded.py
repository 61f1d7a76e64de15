"""A report says of recorded boots how many there are, and judges them without a history."""

from dataclasses import replace

from buildbot_bench.core.compare.model import (
    ComparisonReport,
    SeriesValues,
    Verdict,
)
from buildbot_bench.core.compare.schedule import recorded_boots, recorded_notes
from buildbot_bench.core.compare.text import text
from buildbot_bench.core.sample import PPS
from buildbot_bench.core.wire import RECORDED_BOOTS
from tests.fakes.compared import LEARNT, comparison_of

IN_ORDER = "5 on an APU2, dealt in order"
MORE = f"{IN_ORDER}; what is more is redrawn from them"
NOISY = replace(LEARNT, sigma_build=0.1)
VALUES = SeriesValues(
    testbed="replay",
    workload="forwarding",
    metric=PPS,
    values=((1000.0, 1002.0, 998.0), (930.0, 931.0, 929.0)),
    noise=NOISY,
)


def composed(values: SeriesValues) -> ComparisonReport:
    return comparison_of([values], iterations=3)


def test_each_variant_is_told_of_as_its_last_boot_says() -> None:
    boots = [(0, {RECORDED_BOOTS: IN_ORDER}), (1, {RECORDED_BOOTS: IN_ORDER})]
    assert recorded_boots(boots, 2) == (IN_ORDER, IN_ORDER)
    assert recorded_boots([*boots, (1, {RECORDED_BOOTS: MORE})], 2) == (IN_ORDER, MORE)
    assert recorded_boots(boots[:1], 2) == (IN_ORDER, "none")
    assert recorded_boots([(0, {"dut": "apu"}), (1, {})], 2) == ()


def test_what_is_the_same_of_all_is_said_once() -> None:
    labels = ("r1", "r2", "r3")
    assert [*recorded_notes((IN_ORDER,) * 3, labels)] == [
        f"recorded boots of each variant: {IN_ORDER}"
    ]
    assert [*recorded_notes((IN_ORDER, MORE, IN_ORDER), labels)] == [
        f"recorded boots of r1, r3: {IN_ORDER}",
        f"recorded boots of r2: {MORE}",
    ]
    assert [*recorded_notes((), labels)] == []


def test_a_recording_is_judged_alone_whatever_else_was_recorded_there() -> None:
    booted = composed(VALUES).series[0]
    assert booted.changes[0].verdict is not Verdict.WORSE
    recorded = composed(replace(VALUES, recorded=(IN_ORDER, IN_ORDER)))
    (change,) = recorded.series[0].changes
    assert (
        change.beyond_luck.said == "cannot be decided with one image of each, worse by Student's t"
    )
    assert f"note: recorded boots of each variant: {IN_ORDER}" in text(recorded)
