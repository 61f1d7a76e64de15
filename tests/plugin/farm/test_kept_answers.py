"""Which questions are calculated, in which order, and what is kept of their answers."""

import pytest

from buildbot_bench.plugin.farm import calculating
from buildbot_bench.plugin.farm.calculating import calculate, known, use
from tests.fakes.calculating import Counting, Late


@pytest.fixture
def doing(request):
    there = request.param()
    before = use(there)
    yield there
    use(before)


at_once = pytest.mark.parametrize("doing", [Counting], indirect=True)
late = pytest.mark.parametrize("doing", [Late], indirect=True)


def doubled(values):
    return [2 * value for value in values]


def refused(_values):
    raise ValueError("no")


def large(seed):
    return bytes([seed]) * (calculating.MOST_KEPT_BYTES // 3)


@at_once
async def test_the_same_question_is_calculated_once_and_each_gets_an_answer_of_their_own(doing):
    first = await calculate(doubled, [1, 2])
    first.append("spoilt")
    assert await calculate(doubled, list(range(1, 3))) == [2, 4]
    assert known(doubled, [1, 2]) == [2, 4]
    assert doing.done == 1
    await calculate(doubled, [1, 3])
    assert doing.done == 2


@at_once
async def test_what_failed_is_tried_again(doing):
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await calculate(refused, [1])
    assert doing.done == 2


@at_once
async def test_of_the_answers_those_are_kept_that_were_used_last_as_far_as_there_is_room(doing):
    for seed in (1, 2, 1, 3, 1):
        await calculate(large, seed)
    assert doing.done == 3
    await calculate(large, 2)
    assert doing.done == 4


@late
def test_who_asks_what_is_asked_already_waits_for_the_same(doing):
    answers = []
    for _ in range(2):
        calculate(doubled, [1]).addCallback(answers.append)
    assert len(doing.tasks) == 1
    doing.do()
    assert answers == [[2], [2]]
    assert answers[0] is not answers[1]


@late
def test_what_nobody_waits_for_is_ahead_until_somebody_does(doing):
    woken = []
    assert known(doubled, [1], then=lambda: woken.append(1)) is None
    (task,) = doing.tasks
    assert task.ahead
    calculate(doubled, [1])
    assert not task.ahead
    assert known(doubled, [1]) is None
    assert not task.ahead
    doing.do()
    assert (woken, known(doubled, [1])) == ([1], [2])
