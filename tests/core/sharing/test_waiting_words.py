"""What is told of what waits."""

import pytest

from buildbot_bench.core.sharing import (
    Claim,
    ClaimKind,
    PersonPriority,
    WaitForBuild,
    WaitForDecision,
    WaitForTestbed,
    Weights,
    what_it_waits_for,
)

SAID = {
    "approval": (WaitForDecision(by="approval"), "waits for approval"),
    "no builder": (WaitForBuild(label="r4"), "waits for a builder to build r4"),
    "build": (
        WaitForBuild(label="r311849", builder="kernel"),
        "waits for a build of r311849 on builder kernel",
    ),
    "builds": (
        WaitForBuild(label="r4", ahead=[("comparison 3 (bob)", 1), ("commits", 1)]),
        (
            "waits for a builder to build r4: 1 build of comparison 3 (bob) and 1 build of commits"
            " go first"
        ),
    ),
    "away": (
        WaitForTestbed(name="apu2", away="lab", ahead=[("search 1", 1)]),
        "waits for worker lab of testbed apu2, which is not connected",
    ),
    "next": (WaitForTestbed(name="apu2"), "waits for testbed apu2"),
    "one": (
        WaitForTestbed(name="apu2", ahead=[("search 12 (ann)", 1)]),
        "waits for testbed apu2: 1 boot of search 12 (ann) goes first",
    ),
    "three": (
        WaitForTestbed(name="apu2", ahead=[("search 12 (ann)", 1), ("search 12 (ann)", 2)]),
        "waits for testbed apu2: 3 boots of search 12 (ann) go first",
    ),
    "several": (
        WaitForTestbed(name="apu2", ahead=[("search 1", 3), ("commits", 5), ("search 1", 1)]),
        "waits for testbed apu2: 4 boots of search 1 and 5 boots of commits go first",
    ),
    "many": (
        WaitForTestbed(name="apu2", ahead=[(f"search {n}", n) for n in range(1, 7)]),
        (
            "waits for testbed apu2: 1 boot of search 1, 2 boots of search 2, 3 boots of search 3"
            " and 15 boots of others go first"
        ),
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_it_is_said_for_what_it_waits(case):
    reason, said = SAID[case]
    assert what_it_waits_for(reason) == said


def test_each_person_has_an_account_for_searches_and_one_for_comparisons():
    accounts = {
        Claim(kind=kind, person=person).claimant
        for kind in (ClaimKind.SEARCHES, ClaimKind.COMPARISONS)
        for person in ("ann", "bob")
    }
    assert len(accounts) == 4
    assert Claim(kind=ClaimKind.COMMITS).claimant == "commits"


def test_a_priority_changes_the_share_and_not_the_account():
    low, high = (
        Claim(kind=ClaimKind.COMPARISONS, person="ann", priority=priority)
        for priority in (PersonPriority.LOW, PersonPriority.HIGH)
    )
    assert low.claimant == high.claimant
    assert low.weight(Weights()) < Weights().comparisons < high.weight(Weights())


def test_an_alarm_weighs_more_than_a_search_and_that_more_than_a_comparison():
    weigh = Weights().of
    order = (ClaimKind.CONTROL, ClaimKind.ALARMS, ClaimKind.SEARCHES, ClaimKind.COMPARISONS)
    shares = [weigh(kind) for kind in order]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == len(shares)
    assert weigh(ClaimKind.COMMITS) > 0 == weigh(ClaimKind.IDLE)
