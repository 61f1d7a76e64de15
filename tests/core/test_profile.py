"""What a capture says: how idle it is, where the busy cycles went, how two captures differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.functions import (
    Cycles,
    compare_symbols,
    restore_callers,
    top_symbols,
)
from buildbot_bench.core.profile.model import Profile, Stack, require_traffic
from tests.core.profiles import CAPTURES, MISSED, SIMPLE_TX, folded, recorded


@pytest.mark.parametrize("name", MISSED)
def test_capture_that_missed_the_traffic_is_refused(data, name):
    profile = recorded(data, name)
    assert profile.mostly_idle
    with pytest.raises(InfraError, match=r"9[46]\.\d% of \d+ samples are idle.*80%") as refused:
        require_traffic(profile, capture=name)
    assert "when traffic is seen" in refused.value.hint


@pytest.mark.parametrize("name", CAPTURES)
def test_capture_of_traffic_is_taken(data, name):
    require_traffic(recorded(data, name), capture=name)


def test_idle_is_whatever_has_an_idle_thread_in_its_stack():
    profile = folded(
        "fork_exit;sched_idletd 1",
        "fork_exit;sched_ule_idletd;cpu_idle;acpi_cpu_c1 2",
        "cpu_idle;cpu_activeclock 4",
        "fork_exit;idle_looking_work 9",
    )
    assert (profile.samples, profile.busy_samples) == (16, 9)
    assert profile.idle_share == pytest.approx(7 / 16)


@pytest.mark.parametrize(("idle", "mostly"), [(79, False), (80, True)])
def test_mostly_idle_begins_at_80_percent(idle, mostly):
    profile = folded(f"sched_idletd {idle}", f"ip_input {100 - idle}")
    assert profile.mostly_idle is mostly


def test_capture_without_samples_shows_no_traffic():
    assert Profile(stacks=()).mostly_idle
    assert top_symbols(Profile(stacks=())) == ()


def test_shares_are_of_the_cycles_that_are_not_idle():
    profile = folded("main;ip_input 3", "main;ip_input;ip_forward 1", "sched_idletd 96")
    own = dict(top_symbols(profile))
    assert own == {"ip_input": 0.75, "ip_forward": 0.25, "main": 0}
    inclusive = {
        symbol.name: symbol.old for symbol in compare_symbols(profile, profile, by=Cycles.INCLUSIVE)
    }
    assert inclusive == {"ip_input": 1.0, "ip_forward": 0.25, "main": 1.0}


def test_function_that_calls_itself_counts_once_in_a_stack():
    twice = folded("f;f;f 5", "g 5")
    shares = compare_symbols(twice, twice, by=Cycles.INCLUSIVE)
    assert {symbol.name: symbol.old for symbol in shares} == {"f": 0.5, "g": 0.5}


def test_top_symbols_are_ordered_by_share_and_then_by_name():
    profile = folded("b 2", "a 2", "c 5", "d 1")
    assert [name for name, _ in top_symbols(profile, limit=3)] == ["c", "a", "b"]


def test_difference_names_what_came_what_went_and_what_stayed():
    old, new = folded("gone 50", "same 50", "sched_idletd 900"), folded("came 5", "same 5")
    assert [(one.name, one.old, one.new) for one in compare_symbols(old, new)] == [
        ("came", 0, 0.5),
        ("gone", 0.5, 0),
        ("same", 0.5, 0.5),
    ]


def test_difference_that_sampling_explains_is_not_beyond_chance():
    (few, _) = compare_symbols(folded("f 50", "g 50"), folded("f 55", "g 45"))
    (many, _) = compare_symbols(folded("f 50000", "g 50000"), folded("f 55000", "g 45000"))
    assert few.delta == many.delta == pytest.approx(0.05)
    assert few.error == pytest.approx(0.0705, abs=1e-4)  # sqrt(.5*.5/100 + .55*.45/100)
    assert not few.sure
    assert many.sure


def test_difference_of_simple_tx_is_the_path_around_the_ring(data):
    """With simple_tx packets leave by iflib_simple_transmit and no longer through a ring."""
    old, new = (recorded(data, name) for name in SIMPLE_TX)
    changes = {one.name: one for one in compare_symbols(old, new, by=Cycles.INCLUSIVE)}
    ring = ["iflib_if_transmit", "ifmp_ring_enqueue", "drain_ring_lockless", "iflib_txq_drain"]
    assert list(changes)[:5] == [*ring, "iflib_simple_transmit"]
    assert [round(100 * changes[name].delta) for name in ring] == [-46, -43, -37, -33]
    assert all(changes[name].new < 1e-3 for name in ring)
    transmit = changes["iflib_simple_transmit"]
    assert transmit.old == 0
    assert round(100 * transmit.new) == 28
    # The whole of transmission became cheaper, not only another function's.
    assert round(100 * changes["ether_output"].delta) == -17


def test_callers_that_the_capture_cut_off_are_restored_before_comparing(data):
    """As captured, the receiving thread seems to have grown by 24 points: its chains are shorter
    with simple_tx, so that fewer of them lost their outermost callers."""
    old, new = (recorded(data, name) for name in SIMPLE_TX)
    changes = {one.name: one for one in compare_symbols(old, new, by=Cycles.INCLUSIVE)}
    assert abs(changes["gtaskqueue_thread_loop"].delta) < 0.10
    rooted = [
        sum(stack.samples for stack in profile.busy if stack.frames[0] == "fork_exit")
        / profile.busy_samples
        for profile in (old, new)
    ]
    assert rooted[1] - rooted[0] > 0.2


def test_cut_stack_is_restored_by_the_whole_stacks_of_either_capture():
    cut, whole = folded("b;c;d 1"), folded("a;b;x 1", "a;b 7")
    assert restore_callers(cut, whole, depth=3)[0] == folded("a;b;c;d 1")


def test_stack_that_proves_idle_when_restored_takes_no_busy_cycles():
    deep = ";".join(f"f{depth}" for depth in range(16))
    profile = folded(f"{deep} 10", "cpu_idle;f0 10", "ip_input 10")
    assert top_symbols(profile) == (("ip_input", 1),)
    (change,) = compare_symbols(profile, profile)
    assert (change.name, change.old, change.new) == ("ip_input", 1, 1)


def test_function_called_from_several_places_is_told_by_what_it_calls():
    whole = folded("in;dispatch;ether 5", "in;ether;dispatch;ip 5")
    cut = folded("dispatch;ether;x;y;z 1", "dispatch;ip;x;y;z 1", "dispatch;who;x;y;z 1")
    assert restore_callers(cut, whole, depth=5)[0] == folded(
        "in;dispatch;ether;x;y;z 1", "in;ether;dispatch;ip;x;y;z 1", "dispatch;who;x;y;z 1"
    )


def test_one_stray_stack_in_a_thousand_is_no_disagreement_but_two_ways_are():
    cut = folded("b;c;d 1")
    (restored, _) = restore_callers(cut, folded("a;b 999", "stray;b 1"), depth=3)
    assert restored == folded("a;b;c;d 1")
    (left, _) = restore_callers(cut, folded("a;b 50", "other;b 50"), depth=3)
    assert left == cut


stacks = st.lists(
    st.builds(
        Stack,
        frames=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(tuple),
        samples=st.integers(0, 50),
    ),
    max_size=12,
)
profiles = st.builds(Profile, stacks=stacks.map(tuple))


@given(profiles, profiles)
def test_restoring_only_adds_callers(one, other):
    for before, after in zip((one, other), restore_callers(one, other, depth=4), strict=True):
        assert before.samples == after.samples
        for cut, whole in zip(before.stacks, after.stacks, strict=True):
            assert whole.frames[-len(cut.frames) :] == cut.frames
            assert len(cut.frames) >= 4 or whole == cut


@given(profiles, profiles, st.sampled_from(Cycles))
def test_difference_turned_round_has_the_other_sign(one, other, by):
    there, back = (compare_symbols(*pair, by=by) for pair in ((one, other), (other, one)))
    assert [(a.name, a.delta) for a in there] == [(b.name, -b.delta) for b in back]


@given(profiles)
def test_own_shares_sum_to_the_whole(profile):
    total = sum(share for _, share in top_symbols(profile, limit=99))
    assert total == pytest.approx(1 if profile.busy_samples else 0)
