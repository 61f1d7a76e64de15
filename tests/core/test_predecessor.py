"""A commit against its predecessor: ministat's block whatever the verdict, of one epoch alone."""

import pytest

from buildbot_bench.core import ministat_text
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.report.steps import MOST_BOOTS, against_predecessor, newest_measured
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, Iteration, Sample

SLOW, FAST = (90.0, 91.0, 92.0), (100.0, 101.0, 99.0)


def sample(position: int, values, *, at_s: float = 0.0, **columns) -> Sample:
    boots = tuple(Iteration(value=value, at_s=at_s + k) for k, value in enumerate(values))
    return Sample(label=f"r{position}", position=position, iterations=boots, **columns)


def held(old, new, confidence: float = 95.0):
    return against_predecessor(old, new, confidence=confidence)


def test_the_block_is_ministats_own_and_its_figures_stand_beside_it():
    found = held([sample(1, FAST)], [sample(2, SLOW)])
    assert found.contrast.ministat == ministat_text.render([("r1", FAST), ("r2", SLOW)]).rstrip()
    assert found.difference == pytest.approx(-0.09)
    assert found.low < found.difference < found.high < 0
    assert found.contrast.comparison.significant


def test_all_images_of_a_revision_count_in_the_order_of_their_boots():
    first, second = sample(2, SLOW, at_s=10.0), sample(2, (95.0,), image=1, at_s=5.0)
    found = held([sample(1, FAST)], [first, second])
    assert found.contrast.new.values == (95.0, *SLOW)
    assert (found.old_images, found.new_images) == (1, 2)


def test_a_commit_is_compared_in_the_epoch_in_which_it_was_measured_last():
    old = [sample(1, (1.0, 2.0, 3.0), epoch="a"), sample(1, FAST, epoch="b")]
    new = [sample(2, (5.0, 5.0, 6.0), epoch="a"), sample(2, SLOW, epoch="b", at_s=10.0)]
    found = held(old, new)
    assert (found.epoch, found.contrast.old.values, found.contrast.new.values) == ("b", FAST, SLOW)
    assert held(old[:1], new) is None


def test_another_metric_is_not_compared():
    counted = sample(2, SLOW, metric=INSTRUCTIONS_PER_PACKET)
    assert held([sample(1, FAST)], [counted]) is None


def test_too_few_boots_have_a_difference_and_no_interval_and_it_says_why():
    found = held([sample(1, FAST)], [sample(2, (90.0,))])
    assert found.difference == pytest.approx(-0.1)
    assert (found.low, found.high, found.contrast.ministat) == (None, None, "")
    assert found.contrast.notes == ("r2 has 1 value. Student's t needs 3.",)


@pytest.mark.parametrize("old", [(0.0,), (0.0, 0.0, 0.0)])
def test_of_an_old_level_of_nothing_no_share_is_told(old):
    found = held([sample(1, old)], [sample(2, SLOW)])
    assert (found.difference, found.low, found.high) == (None, None, None)


def test_many_boots_are_cut_to_the_newest():
    found = held([sample(1, FAST)], [sample(2, range(1, 2 * MOST_BOOTS + 1))])
    assert found.contrast.new.values == tuple(range(MOST_BOOTS + 1, 2 * MOST_BOOTS + 1))


def test_what_gave_no_value_has_no_contrast():
    failed = Sample(label="r2", position=2, iterations=(Iteration(value=None, failure="no"),))
    assert newest_measured([failed]) is None
    assert held([sample(1, FAST)], [failed]) is None
    assert held([failed], [sample(2, SLOW)]) is None


def test_a_confidence_that_ministat_does_not_know_is_refused():
    with pytest.raises(UsageError):
        held([sample(1, FAST)], [sample(2, SLOW)], confidence=42.0)
