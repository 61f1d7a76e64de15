"""What a request for a comparison may say, and what each wrong parameter is answered with."""

import base64

import pytest
from buildbot.www.rest import BadJsonRpc2

from buildbot_bench.api.requests import ComparisonQuestion, Extension
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.plugin.rest.endpoints import asked_for, rpc_errors

pytestmark = pytest.mark.both_databases

PAIR = {"variants": ["r4", "r4+VIMAGE"]}


def test_what_is_not_said_is_left_to_the_farm():
    question = asked_for(ComparisonQuestion, PAIR)
    assert (question.testbeds, question.workloads, question.iterations) == ((), (), 5)
    assert question.min_effect is None
    assert question.patches == {}


def test_files_come_in_base64():
    body = b"--- a\xe9"
    question = asked_for(
        ComparisonQuestion, PAIR | {"patches": {"x": base64.b64encode(body).decode()}}
    )
    assert question.patches == {"x": body}


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"variants": "r4"}, "'variants' must be a list"),
        ({"variants": ["r4", 1]}, "'variants' must be a list"),
        ({"labels": ["x"]}, "'labels' must hold texts by name"),
        ({"labels": {"r4": 1}}, "'labels' must hold texts by name"),
        ({"testbeds": "apu"}, "'testbeds' must be a list"),
        ({"workloads": [1]}, "'workloads' must be a list"),
        ({"iterations": 2}, "'iterations' must lie in 3..100, not be 2"),
        ({"iterations": 10**9}, "must lie in 3..100"),
        ({"iterations": True}, "not be True"),
        ({"iterations": "5"}, "not be '5'"),
        ({"min_effect": 2}, "between 0 and 1"),
        ({"patches": {"x": "%%%"}}, "in base64"),
        ({"patches": {"x": 7}}, "in base64"),
        ({"patches": [1]}, "at most 20 files"),
        ({"patches": {str(n): "" for n in range(21)}}, "at most 20 files"),
    ],
)
def test_a_wrong_parameter_is_named(wrong, complaint):
    with pytest.raises(UsageError) as caught:
        asked_for(ComparisonQuestion, PAIR | wrong)
    assert complaint in str(caught.value)


def test_an_extension_may_ask_for_nothing_but_to_go_on():
    more = asked_for(Extension, {})
    assert (more.variants, more.iterations, more.more) == ((), None, 0)
    more = asked_for(Extension, {"variants": ["r9"], "labels": {"r9": "IFLIB"}, "more": 5})
    assert (more.variants, more.labels, more.more) == (("r9",), {"r9": "IFLIB"}, 5)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"more": -1}, "'more' must lie in 0..100, not be -1"),
        ({"more": "5"}, "not be '5'"),
        ({"iterations": 2}, "'iterations' must lie in 3..100"),
        ({"variants": "r9"}, "'variants' must be a list"),
    ],
)
def test_a_wrong_parameter_of_an_extension_is_named(wrong, complaint):
    with pytest.raises(UsageError) as caught:
        asked_for(Extension, wrong)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError("no"), -32602), (InfraError("no"), -32603)]
)
async def test_a_mistake_and_a_site_that_is_away_are_told_apart(error, code):
    async def work() -> None:
        raise error

    with pytest.raises(BadJsonRpc2) as caught:
        await rpc_errors(work())
    assert (caught.value.message, caught.value.jsonrpccode) == ("no", code)
