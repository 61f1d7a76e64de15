"""Who is served next: each claimant gets its share, and none waits for longer than a bound."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.sharing import Demand, Served, turns
from tests.fakes.fairness import waits_at_most_s

# Rounding, of times that are summed up over hundreds of services.
ROUNDING_S = 1e-6


class Lab:
    """A testbed that serves one demand after the other; what it kept of the past is `served`."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.served: dict[str, Served] = {}
        self.number = 0

    def demand(self, claimant: str, weight: float, cost_s: float) -> Demand:
        self.number += 1
        return Demand(number=self.number, claimant=claimant, weight=weight, cost_s=cost_s)

    def serve(self, demands: list[Demand]) -> Demand:
        turn = next(turns(demands, self.served))
        if turn.span is not None:
            self.served[turn.demand.claimant] = turn.span
        self.now_s += turn.demand.cost_s
        demands.remove(turn.demand)
        return turn.demand


weights = st.floats(min_value=0.25, max_value=16)
costs = st.floats(min_value=1, max_value=600)
claimants = st.lists(st.tuples(weights, costs), min_size=2, max_size=6)


@given(claimants)
def test_shares_of_those_who_always_want_more_are_as_their_weights(these):
    lab, got = Lab(), Counter()
    waiting = [lab.demand(str(n), *one) for n, one in enumerate(these)]
    for _ in range(400):
        done = lab.serve(waiting)
        got[done.claimant] += done.cost_s
        waiting.append(lab.demand(done.claimant, done.weight, done.cost_s))
    # Goyal et al., theorem 1: by their weights no two are further apart than a service of each.
    normalised = {n: got[str(n)] / weight for n, (weight, _) in enumerate(these)}
    for n, (weight, cost_s) in enumerate(these):
        for m, (other, other_s) in enumerate(these):
            apart = abs(normalised[n] - normalised[m])
            assert apart <= cost_s / weight + other_s / other + ROUNDING_S


@given(claimants, st.data())
def test_nobody_waits_longer_than_the_bound_whoever_comes_and_goes(these, data):
    lab = Lab()
    since_s: dict[str, float] = {}
    waiting: list[Demand] = []
    for _ in range(60):
        for n, (weight, cost_s) in enumerate(these):
            if str(n) not in since_s and (not waiting or data.draw(st.booleans())):
                waiting.append(lab.demand(str(n), weight, cost_s))
                since_s[str(n)] = lab.now_s
        before_s = lab.now_s
        done = lab.serve(waiting)
        others = [one for n, one in enumerate(these) if str(n) != done.claimant]
        bound_s = waits_at_most_s(done.weight, done.cost_s, others)
        assert before_s - since_s.pop(done.claimant) <= bound_s + ROUNDING_S


@given(claimants, st.integers(min_value=1, max_value=4))
def test_the_order_that_is_shown_is_the_one_that_is_kept(these, each):
    lab = Lab()
    waiting = [lab.demand(str(n), *one) for n, one in enumerate(these) for _ in range(each)]
    shown = [turn.demand.number for turn in turns(waiting, {})]
    assert [lab.serve(waiting).number for _ in range(len(shown))] == shown


def test_an_alarm_gets_four_boots_for_one_of_a_comparison():
    lab = Lab()
    waiting = [lab.demand("alarms", 8, 90), lab.demand("comparisons of ann", 2, 90)]
    order = ""
    for _ in range(11):
        done = lab.serve(waiting)
        order += done.claimant[0]
        waiting.append(lab.demand(done.claimant, done.weight, done.cost_s))
    assert order == "acaaaacaaaa"


def test_who_wanted_nothing_for_long_has_saved_nothing_up():
    lab = Lab()
    for _ in range(100):
        lab.serve([lab.demand("ann", 1, 60)])
    waiting = [lab.demand(who, 1, 60) for who in ("ann", "bob") for _ in range(6)]
    assert Counter(lab.serve(waiting).claimant for _ in range(6)) == {"ann": 3, "bob": 3}


def test_a_long_service_counts_for_as_many_short_ones():
    lab = Lab()
    waiting = [lab.demand("ann", 1, 600), lab.demand("ann", 1, 600)]
    waiting += [lab.demand("bob", 1, 60) for _ in range(20)]
    assert [lab.serve(waiting).claimant for _ in range(12)] == ["ann", *["bob"] * 10, "ann"]


def test_of_one_claimant_the_highest_rank_goes_first_and_the_oldest_of_equals():
    def demand(number: int, rank: int) -> Demand:
        return Demand(number=number, claimant="ann", weight=1, cost_s=60, rank=rank)

    order = turns([demand(3, 10), demand(2, 10), demand(1, 0), demand(4, 20)], {})
    assert [turn.demand.number for turn in order] == [4, 2, 3, 1]


def test_what_has_no_weight_is_served_when_nothing_else_waits_and_counts_for_nothing():
    spare = Demand(number=1, claimant="idle", weight=0, cost_s=60, rank=99)
    wanted = Demand(number=2, claimant="ann", weight=0.25, cost_s=60)
    first, last = turns([spare, wanted], {})
    assert (first.demand, last.demand) == (wanted, spare)
    assert last.span is None


@pytest.mark.parametrize("served", [{}, {"ann": Served(start=5, finish=9)}])
def test_of_nothing_nothing_is_next(served):
    assert list(turns([], served)) == []
