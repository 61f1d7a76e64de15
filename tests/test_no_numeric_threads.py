"""No thread of the master calculates or draws: a function that does goes to another process."""

import pytest

from tests.numeric_calls import Calls

THREADED = """
from twisted.internet.threads import deferToThread

from buildbot_bench.core.model.learn import learn
from buildbot_bench.plugin.farm.calculating import calculate


async def in_a_thread(samples):
    return await deferToThread(lambda: learn(samples))


async def on_the_reactor(samples):
    return learn(samples)


async def elsewhere(samples):
    return await calculate(learn, samples)
"""


@pytest.fixture(scope="module")
def calls():
    return Calls({"buildbot_bench.plugin.threads": THREADED})


def test_nothing_in_the_plugin_comes_to_a_numeric_library_but_by_calculate(calls):
    found = {name.partition(".plugin.")[2] for name in calls.numeric()} - {""}
    assert found == {"threads.in_a_thread", "threads.on_the_reactor"}  # which are to be found


def test_what_is_handed_over_is_a_function_of_the_core_or_of_render(calls):
    # The process that calculates need not load Buildbot.
    handed = {name for name in calls.elsewhere if not name.endswith(".__init__")}
    assert len(handed) > 20
    assert {name.split(".")[1] for name in handed} == {"core", "render"}
