"""A build whose worker goes while it is prepared ends, as one that is to be repeated."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from buildbot.process.results import EXCEPTION

from buildbot_bench.plugin.steps.sturdy_build import SturdyBuild, SturdyFactory


@pytest.fixture
def told():
    """What is told of steps."""
    return []


@pytest.fixture
def build(told):
    async def state(step: int, text: str) -> None:
        told.append((step, text))

    async def end(step: int, results: int, _hidden: bool) -> None:
        told.append((step, results))

    updates = SimpleNamespace(setStepStateString=state, finishStep=end)
    request = SimpleNamespace(mergeSourceStampsWith=lambda _: [], mergeReasons=lambda _: "")
    master = SimpleNamespace(data=SimpleNamespace(updates=updates))
    builder = SimpleNamespace(master=master, config_version=1, config=None)
    build = SturdyBuild([request], builder)
    build._preparation_step = SimpleNamespace(stepid=7)
    return build


async def test_a_worker_that_went_ends_the_preparation(build, told):
    build.workerforbuilder = SimpleNamespace(worker=None)
    await build.buildPreparationFailure(False, "worker_prepare")
    assert told == [(7, "the worker went"), (7, EXCEPTION)]


def test_the_farms_builders_make_such_builds():
    assert SturdyFactory().buildClass is SturdyBuild
