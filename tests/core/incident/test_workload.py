"""A workload that fails with kernels of good standing is broken; kernels that fail alone are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.incident.workload import (
    Attempt,
    BrokenWorkload,
    broken_workload_text,
    judge_workload,
)

NO_TRAFFIC = "the receiver counted 0 of 20000 packets"


def attempts(*said: str) -> list[Attempt]:
    """In the order of time: `3` worked, `3!` failed, `3!panic` for that reason, `3?` in a retry."""
    found = []
    for number, word in enumerate(said, start=1):
        kernel, failed, reason = word.replace("?", "!").partition("!")
        found.append(
            Attempt(
                number=number,
                kernel=kernel,
                label=f"n{kernel}",
                at_s=100.0 * number,
                worked=not failed,
                reason=(reason or NO_TRAFFIC) if failed else "",
                retry="?" in word,
            )
        )
    return found


def names(verdict) -> tuple[str, ...]:
    match verdict:
        case BrokenWorkload():
            return verdict.first.label, verdict.second.label
        case Attempt():
            return (verdict.label,)
        case _:
            return ()


def test_two_kernels_that_were_measured_before_and_fail_alike_are_the_workload():
    verdict = judge_workload(attempts("1", "9", "5!", "6!", "9!", "1!"))
    assert isinstance(verdict, BrokenWorkload)
    assert names(verdict) == ("n9", "n1")
    assert [one.label for one in verdict.since] == ["n5", "n6", "n9", "n1"]
    assert verdict.stood_well


def test_two_kernels_that_fail_in_a_row_call_for_one_of_good_standing_the_last_that_worked():
    verdict = judge_workload(attempts("1", "9", "5!", "6!"))
    assert isinstance(verdict, Attempt)
    assert names(verdict) == ("n9",)


def test_one_that_fails_alone_is_itself_to_blame():
    assert judge_workload(attempts("1", "9", "5!")) is None


def test_one_of_good_standing_that_fails_calls_for_another_at_once():
    assert names(judge_workload(attempts("1", "9", "9!"))) == ("n1",)


def test_a_variant_that_is_compared_is_not_blamed_for_its_first_failure():
    assert names(judge_workload(attempts("1", "5!"), compared={"5"})) == ("n1",)


def test_what_works_in_between_clears_the_workload():
    assert judge_workload(attempts("1", "9", "5!", "6!", "9")) is None


def test_after_failures_that_were_the_kernels_own_it_takes_as_many_more_to_doubt():
    said = ["1", "9", "5!", "6!", "9", "7!", "8!"]
    assert names(judge_workload(attempts(*said))) == ("n9",)
    said += ["9", "10!", "11!"]
    assert judge_workload(attempts(*said)) is None
    assert names(judge_workload(attempts(*said, "12!", "13!"))) == ("n9",)


def test_both_ends_of_a_search_that_fail_alike_are_the_workload_though_nothing_was_measured():
    verdict = judge_workload(attempts("1!", "9!"), ends=[("1", "9")])
    assert isinstance(verdict, BrokenWorkload)
    assert not verdict.stood_well
    assert judge_workload(attempts("1!", "9!")) is None


def test_ends_that_fail_in_different_ways_are_two_revisions_that_cannot_be_tested():
    assert judge_workload(attempts("1!panic", "9!hangs"), ends=[("1", "9")]) is None


@pytest.mark.parametrize("said", ["the receiver counted 7 of 20000 packets", NO_TRAFFIC])
def test_numbers_in_a_reason_make_no_difference(said):
    assert isinstance(judge_workload(attempts("1", "9", f"9!{said}", "1!")), BrokenWorkload)


def test_it_is_tried_again_ever_more_seldom():
    pauses = []
    for retries in range(9):
        said = attempts("1", "9", "9!", "1!", *["9?"] * retries)
        verdict = judge_workload(said)
        pauses.append(verdict.again_at_s - said[-1].at_s)
    assert pauses[:4] == [60.0, 120.0, 240.0, 480.0]
    assert pauses[-1] == 3600.0


def test_the_text_names_workload_revisions_output_and_what_to_try():
    verdict = judge_workload(attempts("1", "9", "9!", "1!"))
    text = broken_workload_text(verdict, workload="pf", testbed="apu", output="no route to host")
    for word in ("workload pf", "testbed apu", "n9", "n1", NO_TRAFFIC, "no route to host"):
        assert word in text
    assert "bench-lab check apu" in text


kernels = st.integers(0, 5).map(str)


@given(
    st.lists(st.tuples(kernels, st.booleans()), max_size=40), st.lists(st.tuples(kernels, kernels))
)
def test_a_workload_is_broken_only_if_two_that_stood_well_or_two_ends_failed_since(done, ends):
    history = attempts(*[name if worked else f"{name}!" for name, worked in done])
    verdict = judge_workload(history, ends=ends)
    worked = [place for place, one in enumerate(history) if one.worked]
    since = history[worked[-1] + 1 :] if worked else history
    failed = {one.kernel for one in since}
    stood = {one.kernel for one in history if one.worked}
    of_ends = any(a != b and {a, b} <= failed for a, b in ends)
    assert isinstance(verdict, BrokenWorkload) == (len(failed & stood) > 1 or of_ends)
    if isinstance(verdict, Attempt):
        assert verdict.kernel in stood - failed


@given(st.lists(st.tuples(kernels, st.booleans()), min_size=1, max_size=30))
def test_a_broken_workload_is_known_after_two_boots_of_good_standing(done):
    history = attempts(*[name if worked else f"{name}!" for name, worked in done], "6", "7")
    said = list(history)
    number = len(said)
    for extra in range(60):
        match judge_workload(said):
            case BrokenWorkload():
                break
            case Attempt() as boot:
                kernel = boot.kernel
            case _:
                kernel = f"new{extra}"
        number += 1
        failed = Attempt(
            number=number,
            kernel=kernel,
            label=kernel,
            at_s=100.0 * number,
            worked=False,
            reason=NO_TRAFFIC,
        )
        said.append(failed)
    own = {one.kernel for one in history if not one.worked}
    assert len(said) - len(history) <= max(2, len(own)) + 2
