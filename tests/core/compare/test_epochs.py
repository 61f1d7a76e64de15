"""Boots of two epochs never stand beside each other."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.compare.schedule import epoch_name, left_out, of_newest_epoch


@given(st.lists(st.sampled_from(["", "1", "2"])))
def test_those_that_count_are_of_one_epoch_the_newest(epochs):
    boots = [SimpleNamespace(epoch=epoch) for epoch in epochs]
    kept, others = of_newest_epoch(boots)
    assert {boot.epoch for boot in kept} == set(epochs[-1:])
    assert not {boot.epoch for boot in others} & set(epochs[-1:])
    assert len(kept) + len(others) == len(boots)


def test_what_is_left_out_is_counted_by_variant_and_epoch():
    others = [("r4", "1"), ("r5", "1"), ("r4", "1")]
    assert left_out(others, "2") == (
        "3 boots left out, for the lab changed: 2 of r4 in epoch '1', 1 of r5 in epoch '1'; "
        "these are of epoch '2'"
    )
    assert left_out([], "2") == ""


def test_an_epoch_without_a_name_is_told_as_that():
    assert epoch_name("") == "the epoch without a name"
    assert epoch_name("x\x1b") == "epoch 'x<U+001B>'"
