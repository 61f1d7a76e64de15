"""Which kernels may go: never one that is needed, and no more than must."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.plugin.broker.retention import LEAST_AGE_S, RetentionPolicy, Stored, expired

DAY_S = 86400.0
NOW_S = 1000 * DAY_S


def stored(digest: str, *, days: float = 10, size: int = 1, needed=False, claimed=True) -> Stored:
    return Stored(
        digest=digest,
        size=size,
        stored_at_s=NOW_S - days * DAY_S,
        needed=needed,
        claimed=claimed,
    )


def chosen(*artefacts: Stored, **policy) -> list[str]:
    return [one.digest for one in expired(artefacts, RetentionPolicy(**policy), NOW_S)]


def test_without_a_policy_nothing_goes():
    assert chosen(stored("a", days=999, size=10**15)) == []


def test_what_is_too_old_goes():
    ages = [stored("young", days=89), stored("old", days=91), stored("older", days=92)]
    assert chosen(*ages, keep_s=90 * DAY_S) == ["older", "old"]


def test_of_too_much_the_oldest_goes_until_it_is_not_too_much():
    ages = [stored("b", days=2), stored("c", days=1), stored("a", days=3)]
    assert chosen(*ages, max_bytes=2) == ["a"]


def test_what_is_needed_stays_and_others_go_for_it():
    ages = [stored("needed", days=99, size=5, needed=True), stored("spare", days=1)]
    assert chosen(*ages, keep_s=DAY_S * 90, max_bytes=5) == ["spare"]


def test_what_age_has_freed_need_not_be_freed_again():
    ages = [stored("old", days=99, size=5), stored("young", days=1, size=5)]
    assert chosen(*ages, keep_s=90 * DAY_S, max_bytes=5) == ["old"]


def test_what_nobody_claims_goes_without_a_policy():
    assert chosen(stored("left over", claimed=False), stored("claimed")) == ["left over"]


def test_what_was_built_just_now_is_about_to_be_booted():
    just = (LEAST_AGE_S - 1) / DAY_S
    assert chosen(stored("new", days=just, size=9, claimed=False), max_bytes=1) == []


ARTEFACTS = st.lists(
    st.builds(
        Stored,
        digest=st.text("0123456789abcdef", min_size=8, max_size=8),
        size=st.integers(0, 100),
        stored_at_s=st.floats(0, NOW_S),
        needed=st.booleans(),
        claimed=st.booleans(),
    ),
    max_size=20,
    unique_by=lambda one: one.digest,
)
POLICIES = st.builds(
    RetentionPolicy,
    keep_s=st.none() | st.floats(1.0, NOW_S),
    max_bytes=st.none() | st.integers(0, 1000),
)


@given(ARTEFACTS, POLICIES)
def test_nothing_that_is_needed_or_new_goes(artefacts, policy):
    for one in expired(artefacts, policy, NOW_S):
        assert not one.needed
        assert NOW_S - one.stored_at_s >= LEAST_AGE_S


@given(ARTEFACTS, POLICIES)
def test_the_policy_holds_for_all_that_may_go(artefacts, policy):
    gone = expired(artefacts, policy, NOW_S)
    left = [one for one in artefacts if one not in gone]
    free = [o for o in left if not o.needed and NOW_S - o.stored_at_s >= LEAST_AGE_S]
    if policy.keep_s is not None:
        assert all(NOW_S - one.stored_at_s <= policy.keep_s for one in free)
    if policy.max_bytes is not None and free:
        assert sum(one.size for one in left) <= policy.max_bytes


@given(ARTEFACTS, POLICIES)
def test_who_looks_again_finds_nothing_more(artefacts, policy):
    gone = expired(artefacts, policy, NOW_S)
    assert expired([one for one in artefacts if one not in gone], policy, NOW_S) == ()


@given(ARTEFACTS, POLICIES, st.randoms())
def test_the_order_in_which_they_are_listed_means_nothing(artefacts, policy, random):
    shuffled = random.sample(artefacts, len(artefacts))
    assert expired(shuffled, policy, NOW_S) == expired(artefacts, policy, NOW_S)


@pytest.mark.parametrize("max_bytes", [0, 1, 2, 3])
def test_no_more_goes_than_must(max_bytes):
    ages = [stored(str(n), days=10 - n) for n in range(3)]
    assert len(chosen(*ages, max_bytes=max_bytes)) == 3 - max_bytes
