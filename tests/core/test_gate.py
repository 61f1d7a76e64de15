"""A commit is worth the hardware when a figure without noise moved, or cannot be had."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.gate import Gate, Ruling, figures_of, first_let_through
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, PPS, Iteration, Sample


def sample(position: int, *values: float, **given: object) -> Sample:
    plain = Sample(
        label=f"r{position}",
        position=position,
        metric=INSTRUCTIONS_PER_PACKET,
        iterations=tuple(Iteration(value=value) for value in values),
    )
    return replace(plain, **given)  # type: ignore[arg-type]


def gate(*samples: Sample, settled: tuple[int, ...] = (), quarantined: bool = False) -> Gate:
    measured = {one.position for one in samples}
    figures = figures_of(samples, measured)
    return Gate(
        settled={*measured, *settled}, figures=figures, least=0.001, quarantined=quarantined
    )


@pytest.mark.parametrize(
    ("value", "ruling"),
    [
        (1000.0, Ruling.CLOSED),
        (1000.9, Ruling.CLOSED),
        (1001.0, Ruling.OPEN),
        (999.0, Ruling.OPEN),
        (999.1, Ruling.CLOSED),
    ],
)
def test_a_gate_opens_when_the_figure_moved_by_what_is_relevant_either_way(value, ruling):
    assert gate(sample(1, 1000.0), sample(2, value)).rules(2, 1) is ruling


@pytest.mark.parametrize(
    ("new", "settled"),
    [
        (sample(2), ()),
        (sample(3, 1000.0), (2,)),
        (sample(2, 1000.0, metric=PPS), ()),
        (sample(2, 1000.0, epoch="a new QEMU"), ()),
    ],
    ids=["no boot gave one", "it does not boot there", "not exact", "another epoch"],
)
def test_a_gate_opens_when_there_is_no_figure_to_go_by(new, settled):
    assert gate(sample(1, 1000.0), new, settled=settled).rules(2, 1) is Ruling.OPEN


def test_speeds_that_are_alike_prove_nothing():
    old, new = sample(1, 1000.0, metric=PPS), sample(2, 1000.0, metric=PPS)
    assert gate(old, new).rules(2, 1) is Ruling.OPEN


def test_a_gate_is_waited_for_unless_it_is_in_quarantine():
    assert gate(sample(1, 1000.0)).rules(2, 1) is Ruling.WAIT
    assert gate(sample(1, 1000.0), quarantined=True).rules(2, 1) is Ruling.OPEN


def test_a_no_op_change_has_the_figure_of_the_commit_before():
    figures = figures_of([sample(1, 7.0), sample(4, 9.0), sample(6)], {1, 2, 4, 5, 6})
    assert {position: one.values for position, one in figures.items()} == {
        1: (7.0,),
        2: (7.0,),
        4: (9.0,),
        5: (9.0,),
    }


def test_small_movements_add_up_until_they_are_worth_a_boot():
    creeping = gate(*(sample(n, 1000 + 0.4 * n) for n in range(1, 7)))
    assert first_let_through([2, 3], {1}, [creeping]) is None
    assert first_let_through([4, 3, 2], {1}, [creeping]) == 4
    assert first_let_through([6, 5], {1, 4}, [creeping]) is None


def test_a_commit_before_all_that_were_measured_is_compared_with_the_next():
    known = gate(sample(1, 7.0), sample(2, 8.0), sample(3, 8.0))
    assert first_let_through([2, 1], {3}, [known]) == 1
    assert first_let_through([2], {3}, [known]) is None


def test_a_commit_between_two_that_were_measured_is_compared_with_the_older():
    known = gate(sample(1, 7.0), sample(2, 7.0), sample(3, 8.0), sample(4, 8.0))
    assert first_let_through([3, 2], {1, 4}, [known]) == 3
    assert first_let_through([2], {1, 4}, [known]) is None


def test_one_gate_that_opens_is_enough():
    still, moved = gate(sample(1, 7.0), sample(2, 7.0)), gate(sample(1, 7.0), sample(2, 8.0))
    assert first_let_through([2], {1}, [still, moved]) == 2
    assert first_let_through([2], {1}, [gate(sample(1, 7.0)), still]) is None


def test_a_gate_that_has_not_ruled_yet_holds_no_older_commit_back():
    assert first_let_through([3, 2], {1}, [gate(sample(1, 7.0), sample(2, 8.0))]) == 2


def test_the_first_commit_of_all_is_measured():
    assert first_let_through([5, 4], set(), [gate()]) == 5


@given(st.lists(st.sampled_from([100.0, 101.0, 103.0]), min_size=1, max_size=30))
def test_behind_a_gate_every_level_is_measured_and_no_more_boots_than_there_are_changes(levels):
    known = gate(*(sample(n, level) for n, level in enumerate(levels)))
    measured = {0}
    for n in range(1, len(levels)):
        measured |= {through} if (through := first_let_through([n], measured, [known])) else set()
    changes = [n for n in range(1, len(levels)) if levels[n] != levels[n - 1]]
    assert measured == {0, *changes}
