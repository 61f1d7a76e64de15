"""What people say of a change bears on the judge: expected begins a level, noise is no change."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import (
    Alarm,
    Nothing,
    Said,
    Settled,
    Suspicion,
    Verdict,
    settled_by,
)
from buildbot_bench.core.judge.segment import noise_marks, since_expected
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise, with_marked_noise
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET
from tests.fakes.judged_farm import Farm

NOISE = Noise(sigma_run=0.005, sigma_build=0.002, df_run=100, df_build=60)
AT = 12
KINDS = st.sampled_from(list(Said))


def dropping(effect: float = -0.1, at: int = AT, *, back: int | None = None) -> Farm:
    """A farm whose code changes by `effect` at a position, and is mended at another."""
    changed = math.log1p(effect)
    farm = Farm(
        noise=NOISE,
        level=lambda p: changed if at <= p and (back is None or p < back) else 0.0,
        seed=3,
    )
    return farm.measured(range(1, at + 1), times=3)


def settled_with(farm: Farm, marks: list[Settled]) -> list[Settled]:
    """What the farm settled, with what was said of it, each once."""
    said = {mark.began for mark in marks}
    return [one for one in farm.settled if one.began not in said] + marks


def look(farm: Farm, position: int, marks: list[Settled]) -> Verdict:
    history, new = farm.split(position)
    places = [(mark.began, mark.judged) for mark in noise_marks(marks, position)]
    noise = with_marked_noise(farm.noise, history, places)
    return judge(history, new, noise, farm.policy, settled_with(farm, marks))


def settle(farm: Farm, position: int, marks: list[Settled]) -> Verdict:
    """As the broker does: measure what is asked for until the judge is content."""
    for _ in range(100):
        verdict = look(farm, position, marks)
        if not isinstance(verdict, Suspicion):
            break
        for request in verdict.remeasure:
            farm.boot(request.position, request.image, request.iterations)
    if isinstance(verdict, Alarm | Nothing) and verdict.began is not None:
        farm.settled.append(Settled(began=verdict.began, judged=position))
    return verdict


def marked(farm: Farm, said: Said, position: int = AT) -> list[Settled]:
    """The mark that a person gives to the alarm at a position."""
    alarm = farm.settle(position)
    assert isinstance(alarm, Alarm)
    return [Settled(said=said, began=alarm.began, judged=position, author="ann")]


def lived(farm: Farm, positions: range, marks: list[Settled]) -> list[Verdict]:
    verdicts = []
    for position in positions:
        farm.boot(position, times=3)
        verdicts.append(settle(farm, position, marks))
    return verdicts


@pytest.mark.parametrize("said", list(Said))
def test_what_was_marked_is_no_alarm_any_more(said: Said) -> None:
    farm = dropping()
    marks = marked(farm, said)
    assert isinstance(look(farm, AT, marks), Nothing)
    assert isinstance(look(farm, AT, []), Alarm)  # and is one again when the mark is taken back


def test_the_reason_names_who_said_so() -> None:
    farm = dropping()
    verdict = look(farm, AT, marked(farm, Said.NOISE))
    assert verdict.reason.endswith("which was marked as noise by ann: both levels count as one")


@pytest.mark.parametrize("said", list(Said))
def test_commits_on_the_new_level_raise_no_alarm(said: Said) -> None:
    farm = dropping()
    verdicts = lived(farm, range(AT + 1, AT + 9), marked(farm, said))
    assert [type(verdict) for verdict in verdicts] == [Nothing] * 8


@pytest.mark.parametrize("said", list(Said))
def test_a_later_change_is_judged_against_the_new_level(said: Said) -> None:
    farm = dropping(-0.1)
    marks = marked(farm, said)
    lived(farm, range(AT + 1, AT + 7), marks)
    before = farm.level
    farm.level = lambda p: math.log1p(-0.28) if p >= AT + 7 else before(p)
    (verdict,) = lived(farm, range(AT + 7, AT + 8), marks)
    assert isinstance(verdict, Alarm)
    assert verdict.effect == pytest.approx(-0.2, abs=0.02)
    assert verdict.anchor >= AT


def test_what_lies_before_an_expected_change_is_compared_with_nothing_behind_it() -> None:
    farm = dropping()
    marks = marked(farm, Said.EXPECTED)
    history, new = farm.split(AT)
    assert "no earlier sample" in judge(history, new, NOISE, farm.policy, marks).reason
    assert judge(history, new, NOISE, farm.policy, marks).comparison is None


def test_a_level_that_returns_is_a_change_after_expected_and_none_after_noise() -> None:
    for said, kind in ((Said.EXPECTED, Alarm), (Said.NOISE, Nothing)):
        farm = dropping(back=AT + 5)
        marks = marked(farm, said)
        verdicts = lived(farm, range(AT + 1, AT + 9), marks)
        assert [type(one) for one in verdicts[:4]] == [Nothing] * 4
        assert isinstance(verdicts[4], kind), said
        assert not any(isinstance(one, Alarm) for one in verdicts[5:])


def test_behind_a_return_changes_are_seen_as_ever() -> None:
    farm = dropping(-0.05, back=AT + 5)
    marks = marked(farm, Said.NOISE)
    lived(farm, range(AT + 1, AT + 9), marks)
    before = farm.level
    farm.level = lambda p: math.log1p(-0.15) if p >= AT + 9 else before(p)
    (verdict,) = lived(farm, range(AT + 9, AT + 10), marks)
    assert isinstance(verdict, Alarm)


def test_a_sample_within_the_doubt_is_compared_with_that_stretch_alone() -> None:
    farm = dropping().measured(range(AT + 1, AT + 3))
    mark = Settled(said=Said.EXPECTED, began=AT, judged=AT + 2)
    samples = farm.samples()
    kept = [s.position for s in since_expected(samples, AT + 1, [mark])]
    assert sorted(kept) == [AT, AT + 1, AT + 2]
    assert {s.position for s in since_expected(samples, AT + 5, [mark])} == {AT + 2}
    assert since_expected(samples, AT - 1, [mark]) == samples


@st.composite
def changed_farms(draw: st.DrawFn) -> Farm:
    """Some commits, with a change of any size somewhere and an outlier here and there."""
    at, effect = draw(st.integers(3, 12)), draw(st.floats(-0.3, 0.3))
    noise = Noise(
        sigma_run=draw(st.floats(0.001, 0.02)),
        sigma_build=draw(st.floats(0.0001, 0.02)),
        df_run=draw(st.floats(4, 200)),
        df_build=draw(st.floats(4, 200)),
    )
    farm = Farm(
        noise=noise,
        level=lambda p: math.log1p(effect) if p >= at else 0.0,
        seed=draw(st.integers(0, 1000)),
    )
    for position in range(1, at + draw(st.integers(1, 4))):
        farm.boot(position, times=draw(st.integers(1, 6)))
    return farm


@settings(max_examples=60, deadline=None)
@given(farm=changed_farms(), said=KINDS, doubt=st.integers(0, 2))
def test_a_mark_never_raises_an_alarm_where_it_stands(farm: Farm, said: Said, doubt: int) -> None:
    position = max(position for position, _ in farm.boots)
    mark = Settled(said=said, began=max(position - doubt, 1), judged=position)
    verdict = look(farm, position, [mark])
    if doubt == 0 or said is Said.NOISE:
        assert not isinstance(verdict, Alarm | Suspicion)
    elif isinstance(verdict, Alarm):
        assert isinstance(look(farm, position, []), Alarm)


@settings(max_examples=60, deadline=None)
@given(farm=changed_farms(), said=KINDS, ahead=st.integers(1, 5))
def test_a_mark_further_on_changes_no_verdict(farm: Farm, said: Said, ahead: int) -> None:
    position = max(position for position, _ in farm.boots)
    mark = Settled(said=said, began=position + ahead, judged=position + ahead)
    history, new = farm.split(position)
    without = judge(history, new, farm.noise, farm.policy, farm.settled)
    assert look(farm, position, [mark]) == without == look(farm, position, [])


def test_noise_grows_by_a_step_that_was_marked_and_by_no_other() -> None:
    farm = dropping(-0.04).measured(range(AT + 1, 30), times=3)
    noise = learn(farm.samples())
    assert with_marked_noise(noise, farm.samples(), []) is noise
    grown = with_marked_noise(noise, farm.samples(), [(AT, AT)])
    expected = (noise.df_build * noise.sigma_build**2 + 0.04**2 / 2) / (noise.df_build + 1)
    assert grown.sigma_build == pytest.approx(math.sqrt(expected), rel=0.1)
    assert replace(grown, sigma_build=noise.sigma_build) == noise


@settings(max_examples=60, deadline=None)
@given(farm=changed_farms(), places=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15))))
def test_marked_noise_is_never_less(farm: Farm, places: list[tuple[int, int]]) -> None:
    noise = farm.noise
    grown = with_marked_noise(noise, farm.samples(), [(min(p), max(p)) for p in places])
    assert grown.sigma_build >= noise.sigma_build
    assert replace(grown, sigma_build=noise.sigma_build) == noise


def test_a_step_with_no_boots_on_a_side_teaches_nothing() -> None:
    farm = dropping()
    noise = learn(farm.samples())
    assert with_marked_noise(noise, farm.samples(), [(1, 1), (99, 99)]) is noise


def test_what_is_counted_stays_counted() -> None:
    farm = dropping()
    counted = [replace(one, metric=INSTRUCTIONS_PER_PACKET) for one in farm.samples()]
    noise = learn(counted)
    assert with_marked_noise(noise, counted, [(AT, AT)]) is noise


@pytest.mark.parametrize(("effect", "small"), [(-0.012, True), (-0.05, False), (None, False)])
def test_what_was_marked_as_noise_is_settled_however_large(effect: float | None, small: bool):
    """What is small is compared across; behind what was marked a level of its own begins."""
    verdict = Nothing(comparison=None, reason="", began=3, effect=effect)
    assert settled_by(verdict, 5, 0.02) == Settled(began=3, judged=5, small=small)
